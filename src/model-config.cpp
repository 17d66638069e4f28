#include <ropewalk/error.hpp>
#include <ropewalk/model.hpp>

#include "message.hpp"

namespace ropewalk {

Model Model::from_config(std::string_view, std::string_view name) {
  throw Error(ErrorCode::kUnsupported, message(name, ": a config, which is not read yet"));
}

}  // namespace ropewalk
