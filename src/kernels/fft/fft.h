// Fourier transforms for this processor, shared out to threads; the results of the definition.
#pragma once
#include "routines/fft/args.h"

namespace sheaf::kernels {

void fft(const routines::RoutineCall& call, const routines::FftArgs<>& args);

}  // namespace sheaf::kernels
