// How much memory may be kept, given what this process may use at all.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "core/memory_blocks.h"

namespace cg::memory {
namespace {

// More would be too much to keep from other programs.
constexpr size_t kMostKept = size_t(1) << 30;
// The rest is for what does not come from here: NumPy's arrays, code, other processes.
constexpr size_t kPart = 8;
constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

size_t number_in(const std::string& file) {
  size_t number;
  return std::ifstream(file) >> number ? number : kUnlimited;  // "max" is no number
}
// The least limit of this process's control group and the groups around it. In a container the group's own path may
// be missing, and its files lie at the top.
size_t limit_of_groups() {
  size_t least = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    const bool newer = kind.empty();
    if (!newer && kind != "memory") continue;
    const std::string top = newer ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string name = newer ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      if (path == "/") path.clear();
      least = std::min(least, number_in(top + path + name));
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}
size_t limit_of_process() {
  size_t least = kUnlimited;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (rlimit limit; getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      least = std::min<size_t>(least, limit.rlim_cur);
  return least;
}

}  // namespace

size_t most_kept() {
  static const size_t of_machine =
      std::min<size_t>(size_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE), limit_of_groups());
  return std::min(kMostKept, std::min(of_machine, limit_of_process()) / kPart);
}

}  // namespace cg::memory
