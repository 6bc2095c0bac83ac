// For whom code is made: the function of the program that is being compiled on this thread, for `sheaf cache list`.
// Kernels of single operations are made for none.
#pragma once
#include <string>

namespace sheaf::compiler {

const std::string& made_for();

// Names the function as long as it lives.
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
