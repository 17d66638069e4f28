#include <ropewalk/error.hpp>

#include "message.hpp"
#include "model.hpp"

namespace ropewalk {

Model model_from_gguf(const formats::Source& source) {
  throw Error(ErrorCode::kUnsupported, message(source.name, ": a GGUF, which is not read yet"));
}

}  // namespace ropewalk
