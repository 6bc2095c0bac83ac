// The function of the program for which this thread is compiling, for `sheaf cache list`. Kernels of single ops belong
// to none.
#pragma once
#include <string>

namespace sheaf::compiler {

const std::string& made_for();

// Sets that function for the lifetime of the object.
class MadeFor {
 public:
  explicit MadeFor(const std::string& function);
  ~MadeFor();
  MadeFor(const MadeFor&) = delete;
  MadeFor& operator=(const MadeFor&) = delete;

 private:
  std::string before_;
};

}  // namespace sheaf::compiler
