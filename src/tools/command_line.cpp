#include "tools/command_line.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "advice/hints.h"
#include "compiler/pipeline.h"

namespace sheaf::tools {
namespace {

// True also for a pipe, such as a shell's /dev/stdin and <(…).
bool is_file(const std::string& word) {
  std::error_code ec;
  return std::filesystem::exists(word, ec) && !std::filesystem::is_directory(word, ec);
}

// True for a program: also for standard input, and for a missing file, which is reported as unreadable instead of as an
// unknown command.
bool names_program(const std::string& word) { return word == "-" || word.ends_with(".shf") || is_file(word); }

size_t parse_bytes(const std::string& flag, const std::string& text) {
  double n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  std::string_view unit(end, text.data() + text.size() - end);
  if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);
  if (unit.ends_with('i')) unit.remove_suffix(1);
  constexpr std::string_view units = "KMGT";
  double scale = 1;
  if (unit.size() == 1 && units.find(std::toupper(unit[0])) != units.npos) {
    for (size_t i = 0; i <= units.find(std::toupper(unit[0])); ++i)
      scale *= 1024;
    unit = {};
  }
  if (error != std::errc() || !unit.empty() || !(n > 0) || n * scale > 9e18)
    throw UsageError(fmt::format("{}: expected a size such as 8G, got '{}'", flag, text));
  return static_cast<size_t>(n * scale);
}

int parse_count(const std::string& flag, const std::string& text, int lo, int hi) {
  int n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < lo || n > hi)
    throw UsageError(fmt::format("{}: expected a number from {} to {}, got '{}'", flag, lo, hi, text));
  return n;
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) out.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

std::string one_of(const std::string& flag, const std::string& value, std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* a : allowed) {
    if (value == a) return value;
    list += list.empty() ? a : fmt::format(", {}", a);
  }
  throw UsageError(fmt::format("{}: expected one of {}, got '{}'", flag, list, value));
}

// "cpu", "cuda", "cuda:1"; accepts the original's other names, so that programs started with them still run.
std::string device_name(const std::string& name) {
  for (const char* known : {"cpu", "sim", "cuda", "metal", "vulkan"})
    if (name == known) return name;
  std::string_view number = name;
  constexpr std::string_view kNumbered = "cuda:";
  if (name.starts_with(kNumbered) && name.size() > kNumbered.size()) {
    number.remove_prefix(kNumbered.size());
    if (number.size() < 4 && number.find_first_not_of("0123456789") == std::string_view::npos) return name;
  }
  throw UsageError(fmt::format(
      "--device: there is no device '{}'; the devices are cpu, cuda (or cuda:N for the one of that number), "
      "metal, vulkan, sim",
      name));
}

std::string pass_name(const std::string& flag, const std::string& name) {
  std::string list;
  for (const compiler::PassInfo& p : compiler::all_passes()) {
    if (name == p.name) return name;
    list += fmt::format("\n  {:<16} {}", p.name, p.doc);
  }
  throw UsageError(fmt::format("{}: there is no pass '{}'; the passes are:{}", flag, name, list));
}

// "; did you mean --jit-profile?", from the words after `mark` in the usage text, or "".
std::string suggestion(std::string_view word, std::string_view mark) {
  const std::string usage = usage_text();
  std::vector<std::string_view> known;
  for (size_t at = usage.find(mark); at != std::string::npos; at = usage.find(mark, at)) {
    at += mark.size();
    std::string_view name = std::string_view(usage).substr(at, usage.find_first_of(" =,]\n", at) - at);
    if (!name.empty() && std::isalpha(static_cast<unsigned char>(name[0]))) known.push_back(name);
  }
  word = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::string out;
  const std::string_view dashes = mark == "--" ? mark : "";
  for (std::string_view name : advice::near_names(word.substr(0, word.find('=')), known))
    out += fmt::format("{}{}{}", out.empty() ? "; did you mean " : " or ", dashes, name);
  return out.empty() ? out : out + "?";
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  Options parse() {
    // --help and --version take precedence anywhere, except among the program's own arguments.
    for (const std::string& w : words_) {
      if (w == "--") break;
      if (w == "-h" || w == "--help") return {.mode = Mode::Help};
      if (w == "--version") return {.mode = Mode::Version};
    }
    while (at_ < words_.size())
      word(words_[at_++]);
    finish();
    return std::move(o_);
  }

 private:
  void word(const std::string& w) {
    if (w == "--") {
      has_rest_ = true;
      rest_.assign(words_.begin() + at_, words_.end());
      at_ = words_.size();
      return;
    }
    if (flag(w)) return;
    if (has_expression_ && !head_) {
      expression_ += (expression_.empty() ? "" : " ") + w;
      return;
    }
    if (head_) {
      tail_.push_back(w);
      return;
    }
    if (w.starts_with('-') && w != "-") throw UsageError(fmt::format("unknown option '{}'{}", w, suggestion(w, "--")));
    head_ = w;
  }

  // Handles one of our flags; returns true if it (and its value) was consumed.
  bool flag(const std::string& w) {
    if (w == "-v" || w == "--verbose") return ++o_.verbosity, true;
    if (w == "-vv") return o_.verbosity = std::max(o_.verbosity, 2), true;
    if (w == "--jit-profile") return o_.jit_profile = true;
    if (w == "--blame") return o_.blame = true;
    if (w == "--mem-profile") return o_.mem_profile = true;
    if (w == "--fullgraph") return o_.fullgraph = true;
    if (w == "--perf-hints") return o_.perf_hints = true;
    if (w == "--max-autotune") return o_.max_autotune = true;
    // `sheaf fmt --check` is another flag.
    if (w == "--check" && (!head_ || names_program(*head_))) return o_.check = true;
    if (w == "--trace") {
      o_.trace = true;
      // The next word is a list of functions, unless it is the program.
      if (at_ < words_.size() && !words_[at_].starts_with('-') && !names_program(words_[at_]))
        o_.traced = split_commas(words_[at_++]);
      return true;
    }
    if (w == "-c") {
      // Words that look like our flags stay flags, except right after -c: (- 5) may be written -c -5.
      if (at_ == words_.size() || words_[at_] == "--") throw UsageError("-c requires an argument");
      has_expression_ = true;
      expression_ += (expression_.empty() ? "" : " ") + words_[at_++];
      return true;
    }
    size_t equals = w.starts_with("--") ? w.find('=') : std::string::npos;
    std::string name = w.substr(0, equals);
    using Set = std::function<void(Options&, const std::string&)>;
    static const auto* valued = new std::map<std::string, Set>{
        {"--device", [](Options& o, const std::string& v) { o.device = device_name(v); }},
        {"--guard",
         [](Options& o, const std::string& v) {
           auto spec = parse_guard_spec(v);
           if (!spec)
             throw UsageError(
                 fmt::format("invalid guard spec '{}': expected [f:]no-nan, [f:]range:LO:HI or [f:]shape:D:D…", v));
           o.guards.push_back(*spec);
         }},
        {"--trace=", [](Options& o, const std::string& v) { o.trace = true, o.traced = split_commas(v); }},
        {"--trace-level",
         [](Options& o, const std::string& v) { o.trace_level = parse_count("--trace-level", v, 1, 3); }},
        {"--trace-out", [](Options& o, const std::string& v) { o.trace_out = v; }},
        {"--threads", [](Options& o, const std::string& v) { o.threads = parse_count("--threads", v, 1, 4096); }},
        {"--max-memory", [](Options& o, const std::string& v) { o.max_memory = parse_bytes("--max-memory", v); }},
        {"--max-device-memory",
         [](Options& o, const std::string& v) { o.max_device_memory = parse_bytes("--max-device-memory", v); }},
        {"--emit",
         [](Options& o, const std::string& v) {
           o.emit =
               one_of("--emit", v, {"forms", "core", "graph", "grad", "fused", "plan", "loop", "llvm", "asm", "gpu"});
         }},
        {"--jit", [](Options& o, const std::string& v) { o.jit = one_of("--jit", v, {"on", "off", "always"}); }},
        {"--backend",
         [](Options& o, const std::string& v) { o.backend = one_of("--backend", v, {"auto", "block", "native"}); }},
        {"--disable",
         [](Options& o, const std::string& v) {
           for (const std::string& name : split_commas(v))
             o.disabled.push_back(pass_name("--disable", name));
         }},
        {"--dump-after",
         [](Options& o, const std::string& v) {
           for (const std::string& name : split_commas(v))
             o.dumped.push_back(pass_name("--dump-after", name));
         }},
        {"--dynamic",
         [](Options& o, const std::string& v) { o.dynamic = one_of("--dynamic", v, {"auto", "off", "all"}); }},
        {"--cache-dir", [](Options& o, const std::string& v) { o.cache_dir = v; }},
    };
    if (equals != std::string::npos && name == "--trace") name = "--trace=";
    auto it = valued->find(name);
    if (it == valued->end() || (equals == std::string::npos && name.ends_with('='))) return false;
    bool has_value = equals != std::string::npos ? equals + 1 < w.size() : at_ < words_.size() && !words_[at_].empty();
    if (!has_value && name != "--trace=") throw UsageError(name + " requires an argument");
    it->second(o_, equals != std::string::npos ? w.substr(equals + 1) : words_[at_++]);
    return true;
  }

  void finish() {
    static const std::map<std::string, Mode> commands = {
        {"fmt", Mode::Format},      {"test", Mode::Test},   {"check", Mode::Check},     {"doc", Mode::Doc},
        {"explain", Mode::Explain}, {"cache", Mode::Cache}, {"devices", Mode::Devices}, {"new", Mode::New}};
    o_.words = tail_;
    o_.words.insert(o_.words.end(), rest_.begin(), rest_.end());
    if (head_ && *head_ == "init-ai") {
      o_.mode = Mode::InitAi;
    } else if (head_ && names_program(*head_)) {
      o_.mode = Mode::File;
      o_.target = *head_;
    } else if (head_ && commands.count(*head_)) {
      o_.mode = commands.at(*head_);
    } else if (has_expression_) {
      o_.mode = Mode::Eval;
      o_.target = expression_;
    } else if (head_) {
      throw UsageError(fmt::format("unknown command '{}'{}", *head_, suggestion(*head_, "  sheaf ")));
    } else {
      o_.mode = Mode::Repl;
    }
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  Options o_;
  std::optional<std::string> head_;  // the word that selects the command
  std::vector<std::string> tail_;    // the words after it
  bool has_expression_ = false, has_rest_ = false;
  std::string expression_;
  std::vector<std::string> rest_;  // after --
};

}  // namespace

Options parse_command_line(const std::vector<std::string>& words) { return Parser(words).parse(); }

std::string usage_text() {
  return R"(Usage:
  sheaf                        the prompt (REPL)
  sheaf [OPTIONS] FILE [ARG…]  run a program (-: standard input); it sees the words after its name
  sheaf [OPTIONS] -c EXPR      evaluate EXPR (the following words joined by spaces)
  sheaf check [--json] FILE…   list every error of programs without running them: syntax, unknown names, wrong
                               arguments; of all in a folder; -: of standard input. Exit status 1 if there are any.
                               --json: one object per line, for an editor
  sheaf fmt [--check] FILE…    re-indent programs in place, also all in a folder; -: standard input to output
  sheaf test [--only TEXT] FILE…
                               run the deftest forms of programs, or of those in directories
  sheaf doc NAME               what a function or form does
  sheaf doc --write DIR        the reference as Markdown pages
  sheaf doc --check            run the examples of the reference
  sheaf explain FILE           run a program and say how its functions ran
  sheaf cache list|explain|clear
                               compiled code that is kept on disk
  sheaf devices                what programs can run on, and why not on the rest
  sheaf new mlp|gpt|cnn|rnn NAME
                               write a small project: a program, its tests, a README
  sheaf init-ai                write sheaf-context.md, a primer for coding assistants

Options, before or after the file (what follows -- belongs to the program):
  -h, --help                   print this and exit
      --version                print the version and exit
  -v, --verbose                say what is compiled, at the first call already; -vv more, without the disk cache
      --device D               cpu (default), cuda, cuda:N: an NVIDIA GPU (see sheaf devices), or sim: a simulated
                               one, for tests; metal and vulkan run on the CPU
      --threads N              as many threads (the number of physical cores that the process may use)
      --max-memory SIZE        stop with an error beyond this much memory (8G, 500M): of tensors, and of all that the
                               program holds beyond the start; pages of mapped files do not count
      --max-device-memory SIZE
                               the same for the memory of the device (92 % of what is free)

      --trace [F,G,…]          show calls of all functions, or of those named
      --trace-level N          1: names and times, 2: values too (default), 3: also built-ins and lambdas
      --trace-out FILE         write the trace as JSON lines
      --guard SPEC             check results: [f:]no-nan, [f:]range:LO:HI, [f:]shape:D:D…; repeatable
      --blame                  time by function at exit
      --mem-profile            memory report at exit
      --jit-profile            dispatch times at exit, and of each kernel its rate beside the machine's peak

      --perf-hints             at exit: copies, numbers widened unasked, functions that run interpreted

      --emit=KIND              print a stage of the program instead of its result: forms, core, graph, grad, fused,
                               plan, loop, llvm, asm, gpu
      --jit=MODE               on (default), off, always (also the first call)
      --backend=KIND           auto (default: native code where it pays), block, native (all at once)
      --disable=PASS,…         leave out passes of the compiler (an unknown name lists them)
      --dump-after=PASS,…      print what these passes leave, to stderr, each time they run
      --dynamic=MODE           sizes that compiled code leaves open: auto (default: those that change), off, all
      --fullgraph              an error when a function cannot be compiled whole
      --check                  run everything compiled in the block executor too, and stop at the first bit that differs
      --max-autotune           time every algorithm for each matrix product, keep the fastest on disk, show all at exit
      --cache-dir DIR          where compiled code is kept (default: $XDG_CACHE_HOME/sheaf or ~/.cache/sheaf)
)";
}

}  // namespace sheaf::tools
