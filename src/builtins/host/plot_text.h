// Curves as text for a terminal. A pure function.
#pragma once
#include <string>
#include <vector>

#include "builtins/host/plot_frame.h"

namespace sheaf::builtins {

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& o);

}  // namespace sheaf::builtins
