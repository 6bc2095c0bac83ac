// A position in a picture.
#pragma once

namespace sheaf::builtins {

struct Point {
  double x = 0, y = 0;  // from the left, from the top
};

}  // namespace sheaf::builtins
