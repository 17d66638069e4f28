#include "pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ropewalk::python {
namespace {

std::int64_t available() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::atomic<std::int64_t> wanted{0};  // 0: not asked for yet

struct Job {
  void (*task)(void* work, std::int64_t i);
  void* work;
  std::int64_t count;
  std::atomic<std::int64_t> next{0};
  std::int64_t helpers = 0;  // at work on it; guarded by the pool's mutex

  void help() {
    for (std::int64_t i = next++; i < count; i = next++) task(work, i);
  }
};

class Pool {
 public:
  // Fewer helpers where the system gives no more threads, until another number is wanted.
  explicit Pool(std::int64_t helpers) : helpers_(helpers) {
    try {
      for (std::int64_t i = 0; i < helpers; ++i) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] bool serves(std::int64_t helpers) const { return helpers_ == helpers; }

  // One job at a time has the helpers; a second one, of another thread, runs alone.
  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      if (job_ == nullptr) job_ = &job;
    }
    wake_.notify_all();
    job.help();
    std::unique_lock lock(mutex_);
    if (job_ == &job) job_ = nullptr;
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ends_ || (job_ != nullptr && job_->next < job_->count); });
      if (ends_) return;
      Job& job = *job_;
      ++job.helpers;
      lock.unlock();
      job.help();
      lock.lock();
      if (--job.helpers == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  bool ends_ = false;
  std::vector<std::thread> threads_;
  const std::int64_t helpers_;
};

// What threads share. It is never destroyed: at exit they may still be at work.
struct Process {
  std::array<std::shared_mutex, 16> guards;
  std::mutex mutex;
  std::shared_ptr<Pool> pool;  // guarded by mutex

  // Guards first: who holds one may want the pool.
  void lock() {
    for (std::shared_mutex& guard : guards) guard.lock();
    mutex.lock();
  }
  void unlock() {
    mutex.unlock();
    for (std::shared_mutex& guard : guards) guard.unlock();
  }
};

Process*& process() {
  static Process* current = [] {
    // Threads do not come along into a forked process, nor does anybody unlock there what they had locked.
    // So a fork waits until nothing is half done, and the child starts afresh.
    pthread_atfork([] { process()->lock(); }, [] { process()->unlock(); },
                   [] { process() = new Process; });
    return new Process;
  }();
  return current;
}

// Shared, so that a pool that was replaced lives until its last call is done.
std::shared_ptr<Pool> pool_of(std::int64_t helpers) {
  Process& mine = *process();
  std::shared_ptr<Pool> replaced;  // ends, outside the lock, with its last call
  const std::lock_guard lock(mine.mutex);
  if (mine.pool == nullptr || !mine.pool->serves(helpers)) {
    replaced = std::exchange(mine.pool, std::make_shared<Pool>(helpers));
  }
  return mine.pool;
}

void run(void*, std::int64_t count, void (*task)(void* work, std::int64_t i), void* work) {
  Job job{task, work, count};
  pool_of(threads() - 1)->run(job);
}

}  // namespace

std::int64_t threads() {
  const std::int64_t count = wanted;
  return count > 0 ? count : available();
}

void set_threads(std::int64_t count) { wanted = count; }

std::shared_mutex& guard_of(const void* object) {
  auto& guards = process()->guards;
  return guards[std::hash<const void*>()(object) / 64 % guards.size()];
}

ParallelFor parallel_for() {
  const std::int64_t count = threads();
  if (count == 1) return {};
  return {&run, nullptr, count};
}

}  // namespace ropewalk::python
