// The devices of tensors and functions.
#include "runtime/device.h"

#include <fmt/format.h>

#include "builtins/core/builtin.h"
#include "builtins/host/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using runtime::Placement;

Value run_device_of(Call& c) {
  const bool is_tensor = c[0].is_tensor();
  return Value::keyword(Name((is_tensor ? c[0].as_tensor().buffer->home() : host_space()).name()));
}

Placement placement_of(const Value& v) {
  const std::string_view name = v.tag() == Tag::Keyword ? std::string_view(v.as_keyword().str()) : "";
  if (name == host_space().name()) return Placement::Host;
  if (runtime::g_device && name == runtime::g_device->name()) return Placement::Device;
  throw runtime_error(fmt::format("with-device: this program runs without a device {}", short_text(v)));
}

Value run_with_device(Call& c) {
  const runtime::PlacementScope scope(placement_of(c[0]));
  return c.caller.call(c[1], {});
}

Value run_synchronize(Call& c) {
  runtime::wait_for_device();
  return c.args.empty() ? Value() : c[0];
}

const BuiltinDef kBuiltins[] = {
    {.name = "device-of",
     .category = "State and host",
     .signature = "(device-of x)",
     .doc = "The device whose memory holds x, as a keyword. Numbers and all that is not a tensor are on the CPU. A "
            "function that asks is not compiled.",
     .examples = {{"(device-of (zeros [3]))", ":cpu"}},
     .min_args = 1,
     .max_args = 1,
     .run = run_device_of,
     .effect = Effect::Input},
    {.name = "with-device",
     .category = "State and host",
     .signature = "(with-device device f)",
     .doc = "Calls f without arguments; the operations and compiled functions that it calls run on the device: :cpu, "
            "or the one of --device. Without it, large ones run on the device, and those whose arguments live there. "
            "Inside a compiled function it changes nothing, as that runs in one place.",
     .examples = {{"(with-device :cpu (fn [] (sum [1 2 3])))", "6.0"}},
     .min_args = 2,
     .max_args = 2,
     .run = run_with_device},
    {.name = "synchronize",
     .category = "State and host",
     .signature = "(synchronize [x])",
     .doc = "Waits until the device has run everything that was sent to it, then returns x. On the CPU nothing is "
            "pending. For timing: a function that returns tensors returns while the device still works on them. A "
            "function that waits is not compiled.",
     .examples = {{"(synchronize (+ 1 2))", "3"}},
     .min_args = 0,
     .max_args = 1,
     .run = run_synchronize,
     .effect = Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> device_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
