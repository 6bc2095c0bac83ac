// Runs steps that hold other plans, or call back, on this processor. `buffers` are those of the step.
#pragma once
#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

void run_control(const HostStep& step, const Pointers& buffers);
void run_control(const CallStep& step, const Pointers& buffers);
void run_control(const CondStep& step, const Pointers& buffers);
void run_control(const ScanStep& step, const Pointers& buffers);
void run_control(const WhileStep& step, const Pointers& buffers);

}  // namespace sheaf::runtime
