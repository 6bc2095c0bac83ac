// Formats progress. Pure functions of the progress so far and the available width.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::builtins {

struct Progress {
  int64_t done = 0, total = 0;
  int64_t first = 0;  // iterations of an earlier run that this one continues; excluded from the rate
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> values;  // shown at the end: "loss 0.25"
};

// One line of at most `width` columns with a bar. If it does not fit, omits first the bar, then the rate, then the
// count.
std::string progress_bar(const Progress& p, int width);
// The same as a plain line for files.
std::string progress_line(const Progress& p);

}  // namespace sheaf::builtins
