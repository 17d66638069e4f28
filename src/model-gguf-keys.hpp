// The keys of one architecture in a GGUF, each with the type that is wanted. A part of the room model.

#ifndef ROPEWALK_SRC_MODEL_GGUF_KEYS_HPP_
#define ROPEWALK_SRC_MODEL_GGUF_KEYS_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.hpp"
#include "message.hpp"

namespace ropewalk {

// Keys are named without the architecture: "rope.freq_base". What is not there is empty, what has
// another type or cannot be is an Error (kBadFormat) with file and key. All must outlive this.
class GgufKeys {
 public:
  GgufKeys(const formats::Gguf& file, std::string_view path, std::string_view architecture)
      : file_(file), path_(path), architecture_(architecture) {}

  [[nodiscard]] std::string_view path() const noexcept { return path_; }
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  // From 0 to 2^40; a single number where some files have one for each layer.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  // One for all layers, or one each.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  [[nodiscard]] bool is_array(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;  // finite
  // As integers().
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view key) const;
  [[nodiscard]] std::optional<bool> truth(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  // "file: llama.rope.freq_base: ..."
  template <class... Parts>
  [[noreturn]] void refuse(std::string_view key, const Parts&... parts) const {
    throw Error(ErrorCode::kBadFormat, line(key, parts...));
  }
  template <class... Parts>
  [[noreturn]] void unsupported(std::string_view key, const Parts&... parts) const {
    throw Error(ErrorCode::kUnsupported, line(key, parts...));
  }
  template <class... Parts>
  [[nodiscard]] std::string line(std::string_view key, const Parts&... parts) const {
    return message(path_, ": ", architecture_, ".", key, ": ", parts...);
  }

 private:
  [[nodiscard]] const formats::GgufValue* find(std::string_view key) const {
    const auto found = file_.keys.find(message(architecture_, ".", key));
    return found == file_.keys.end() ? nullptr : &found->second;
  }
  [[noreturn]] void refuse_type(std::string_view key, const formats::GgufValue& value,
                                std::string_view wanted) const;

  const formats::Gguf& file_;
  std::string_view path_;
  std::string_view architecture_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_MODEL_GGUF_KEYS_HPP_
