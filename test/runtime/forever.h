// Devices of tests live as long as the process, like real ones: work on them may outlive the test.
#pragma once
#include <utility>
#include <vector>

namespace sheaf::runtime::testing {

template <class T, class... Args>
T& forever(Args&&... args) {
  static auto* all = new std::vector<T*>;
  all->push_back(new T(std::forward<Args>(args)...));
  return *all->back();
}

}  // namespace sheaf::runtime::testing
