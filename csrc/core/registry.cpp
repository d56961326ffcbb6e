// The table of all ops by name.
#include <algorithm>
#include <map>
#include <vector>

#include "core/op.h"

namespace cg {
namespace {
std::map<std::string_view, const OpInfo*>& table() {
  static std::map<std::string_view, const OpInfo*> t;
  return t;
}
}  // namespace

const OpInfo* find_op(std::string_view name) {
  auto it = table().find(name);
  return it == table().end() ? nullptr : it->second;
}

std::vector<const OpInfo*> all_ops() {
  std::vector<const OpInfo*> r;
  for (auto& [name, info] : table()) r.push_back(info);
  return r;
}

void add_op(const OpInfo* info) {
  if (!table().emplace(info->name, info).second) throw std::logic_error(std::string("op defined twice: ") + info->name);
}

}  // namespace cg
