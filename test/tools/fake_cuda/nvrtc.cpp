// A fake NVRTC: compiles text by the C++ compiler with the shim. Its "cubin" is the size of a shared library, then the
// library. Writes a line for each compilation to the file $FAKE_NVRTC_LOG. $FAKE_NVRTC_FAULT, "WORD=OTHER", plants a
// fault: the other word replaces the first in the text.
#include <cstdint>
#include <cstring>
#include <regex>

#include "codegen/gpu/shim_compile.h"

namespace {

struct Program {
  std::string text, log, cubin;
};

Program& of(void* p) { return *static_cast<Program*>(p); }

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*, const char* const*) {
  *program = new Program{text, "", ""};
  return 0;
}

int nvrtcCompileProgram(void* program, int, const char* const*) {
  Program& p = of(program);
  std::string text = p.text;
  if (const char* fault = std::getenv("FAKE_NVRTC_FAULT")) {
    const std::string both = fault, word = both.substr(0, both.find('='));
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
      text.replace(at, word.size(), both.substr(word.size() + 1));
  }
  const std::regex kernel(R"(__global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\()");
  for (std::sregex_iterator it(p.text.begin(), p.text.end(), kernel), end; it != end; ++it)
    text += "SHIM_RUNS(" + (*it)[1].str() + ")\n";
  if (const char* path = std::getenv("FAKE_NVRTC_LOG")) std::ofstream(path, std::ios::app) << "compiled\n";
  const auto object = sheaf::codegen::gpu::testing::compile_shim(text, false);
  p.log = object.errors;
  if (object.bytes.empty()) return 6;  // NVRTC_ERROR_COMPILATION
  const uint64_t size = object.bytes.size();
  p.cubin.assign(reinterpret_cast<const char*>(&size), sizeof size);
  p.cubin += object.bytes;
  return 0;
}

int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = of(program).log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* text) {
  std::memcpy(text, of(program).log.c_str(), of(program).log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = of(program).cubin.size();
  return 0;
}
int nvrtcGetCUBIN(void* program, char* bytes) {
  std::memcpy(bytes, of(program).cubin.data(), of(program).cubin.size());
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  return 0;
}

}  // extern "C"
