// The definitions of sheaf.h's opaque types, and the boundary at which exceptions become errors.
#pragma once
#include <sheaf/sheaf.h>

#include <functional>
#include <string>

#include "value/value.h"

namespace sheaf::embed {

// The session whose cells a value refers to: 0 for plain data, kMixed for functions of several sessions.
using Owner = uint64_t;
inline constexpr Owner kMixed = ~Owner{0};
inline Owner joined(Owner a, Owner b) { return a == 0 || a == b ? b : b == 0 ? a : kMixed; }
// Returns `maker` if the value contains functions or other objects of a session, else 0.
Owner owner_of(const Value& v, Owner maker);

// An error of the host, not of the program.
struct HostError {
  std::string message;
};

// Returns nullptr if memory is exhausted.
sheaf_value* new_handle(Value v, Owner owner) noexcept;

// Runs `f`. Returns its exception as an error, or nullptr.
sheaf_error* caught(const std::function<void()>& f) noexcept;

}  // namespace sheaf::embed

struct sheaf_value {
  sheaf::Value value;
  sheaf::embed::Owner owner;
};

struct sheaf_error {
  std::string kind, message, file, report;
  int line = 0, column = 0, exit_code = 1;
};
