// Clocks, state, the command line and the environment.
#include "builtins/host/process.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>

#include "builtins/core/elements.h"
#include "builtins/host/families.h"
#include "builtins/host/options.h"
#include "builtins/host/output.h"
#include "support/interrupt.h"
#include "support/mutex.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string>& program_args() {
  static auto* a = new std::vector<std::string>;
  return *a;
}

struct KeptOptions {
  Mutex mu;
  std::map<std::string, std::string> texts GUARDED_BY(mu);
};
KeptOptions& kept_options() {
  static auto* o = new KeptOptions;
  return *o;
}

Value kept(Value options) {
  MutexLock lock(kept_options().mu);
  for (const DictEntry& e : options.as_dict().entries())
    if (e.key.str() != "path" && e.key.str() != "fresh") kept_options().texts[e.key.str()] = render(e.value);
  return options;
}

// Accessed by a signal handler.
std::atomic<bool> g_asked{false};
std::atomic<int> g_answer{0};  // the signal that (interrupted?) reports, or 0

// The exit status that a shell shows for a program ended by a signal.
int status_of(int signal) { return 128 + signal; }

Value seconds(Call&) {
  static const Clock::time_point start = Clock::now();
  return Value::floating(std::chrono::duration<float>(Clock::now() - start).count());
}

Value now_ns(Call&) {
  return Value::integer(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

AtomObj& atom_argument(const Value& v, const char* who) {
  if (v.tag() != Tag::Atom) throw runtime_error(fmt::format("{}: expected an atom, got {}", who, type_name(v)));
  return *static_cast<AtomObj*>(v.object());
}

// Protects the contents of all atoms: a Value is two words. Not held while user code runs.
Mutex& atom_mutex() {
  static auto* mu = new Mutex;
  return *mu;
}

Value read_atom(AtomObj& a) {
  MutexLock lock(atom_mutex());
  return a.value;
}

Value write_atom(AtomObj& a, const Value& v) {
  Value old = v;
  MutexLock lock(atom_mutex());
  a.value.swap(old);
  return v;
}

Value new_atom(Call& c) {
  auto* a = new AtomObj;
  Value v = Value::object(Tag::Atom, a);
  a->value = std::move(c[0]);
  return v;
}

bool same_reference(const Value& a, const Value& b) {
  return a.tag() == b.tag() && (a.is_object() ? a.object() == b.object() : a.as_int() == b.as_int());
}

// `append` and `assoc` check all arguments before they change the first one, so it can be moved into them: a list in an
// atom then grows in place, and an error leaves the atom unchanged. They run no user code, so the lock may be held.
bool changes_in_place(const Value& f) {
  return f.tag() == Tag::Builtin && (f.as_function()->name() == "append" || f.as_function()->name() == "assoc");
}

Value swap_in_place(Call& c, AtomObj& a, std::vector<Value> args) {
  MutexLock lock(atom_mutex());
  args[0].swap(a.value);
  try {
    a.value = static_cast<CallableObj*>(c[1].object())->invoke(c.caller, args);
    return a.value;
  } catch (...) {
    args[0].swap(a.value);
    throw;
  }
}

// (swap! a f x …). Another thread may change the atom meanwhile; then f is applied again.
Value swap_atom(Call& c) {
  AtomObj& a = atom_argument(c[0], "swap!");
  std::vector<Value> extra(c.args.begin() + 2, c.args.end());
  extra.insert(extra.begin(), Value());
  if (changes_in_place(c[1])) return swap_in_place(c, a, std::move(extra));
  for (;;) {
    Value old = read_atom(a);
    extra[0] = old;
    Value next = c.caller.call(c[1], extra);
    MutexLock lock(atom_mutex());
    if (!same_reference(a.value, old)) continue;
    a.value = next;
    return next;
  }
}

Value args(Call&) {
  std::vector<Value> out;
  for (const std::string& s : program_args())
    out.push_back(Value::string(s));
  return Value::list(std::move(out));
}

Value options(Call& c) {
  if (!c[0].is_dict())
    throw runtime_error(fmt::format("options: expected a dict of defaults, got {}", type_name(c[0])));
  Value choices = c.size() > 1 ? c[1] : Value::nil();
  if (c.size() > 1) {
    if (!choices.is_dict())
      throw runtime_error(fmt::format("options: expected a dict of choices, got {}", type_name(choices)));
    for (const DictEntry& e : choices.as_dict().entries())
      if (!e.value.is_list() || !c[0].as_dict().find(e.key))
        throw runtime_error(
            fmt::format("options: the choices of :{} must be a list, for an option that is there", e.key.str()));
  }
  return kept(parse_program_options(c[0], choices, program_args()));
}

Value env(Call& c) {
  if (!is_key(c[0])) throw runtime_error(fmt::format("env: expected a name, got {}", type_name(c[0])));
  const char* text = std::getenv(key_name(c[0]).str().c_str());
  if (text) return Value::string(text);
  return c.size() > 1 ? std::move(c[1]) : Value::nil();
}

Value read_line(Call&) {
  flush_out();
  std::string line;
  if (!std::getline(std::cin, line)) {
    if (g_interrupted) std::cin.clear();  // Ctrl-C at a prompt is not the end of the input
    heed_interrupt();
    return {};
  }
  if (line.ends_with('\r')) line.pop_back();
  return Value::string(std::move(line));
}

const BuiltinDef kBuiltins[] = {
    {"time",
     "State and host",
     "(time)",
     "Seconds since the first call of time in this process.",
     {{"(>= (time) 0)", "true"}},
     0,
     0,
     seconds,
     {},
     Effect::Input},
    {"now-ns",
     "State and host",
     "(now-ns)",
     "A clock that never goes back, in nanoseconds, as an int.",
     {{"(let [a (now-ns)] (>= (now-ns) a))", "true"}},
     0,
     0,
     now_ns,
     {},
     Effect::Input},
    {"atom",
     "State and host",
     "(atom v)",
     "A place that holds a value which can be replaced.",
     {{"(atom 5)", "<atom 5>"}},
     1,
     1,
     new_atom,
     {},
     Effect::Input},
    {"deref",
     "State and host",
     "(deref a)",
     "The value an atom holds now.",
     {{"(deref (atom 5))", "5"}},
     1,
     1,
     [](Call& c) { return read_atom(atom_argument(c[0], "deref")); },
     {},
     Effect::Input},
    {"reset!",
     "State and host",
     "(reset! a v)",
     "Puts v into the atom and returns it.",
     {{"(let [a (atom 1)] (reset! a 7) (deref a))", "7"}},
     2,
     2,
     [](Call& c) { return write_atom(atom_argument(c[0], "reset!"), c[1]); },
     {},
     Effect::Input},
    {"swap!",
     "State and host",
     "(swap! a f x …)",
     "Puts (f value x …) into the atom and returns it.",
     {{"(let [a (atom 10)] (swap! a + 5))", "15"}},
     2,
     -1,
     swap_atom,
     {},
     Effect::Input},
    {"interrupted?",
     "State and host",
     "(interrupted?)",
     "Has Ctrl-C been pressed, or has the system asked the program to end (SIGTERM, SIGHUP)? A program that asks "
     "decides itself how to end; a second signal stops it.",
     {{"(interrupted?)", "false"}},
     0,
     0,
     [](Call&) {
       g_asked = true;
       return Value::boolean(g_answer != 0);
     },
     {},
     Effect::Input},
    // The status to end with when (interrupted?) is true: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    {"%interrupted-status",
     "",
     "",
     "",
     {},
     0,
     0,
     [](Call&) {
       int signal = g_answer;
       return Value::integer(status_of(signal ? signal : SIGINT));
     },
     {},
     Effect::Input},
    // From here on a signal ends the program again, until it asks the next time; so does one that it has not asked
    // about.
    {"%stop-asking",
     "",
     "",
     "",
     {},
     0,
     0,
     [](Call&) {
       g_asked = false;
       int signal = g_answer.exchange(0);
       if (signal == SIGINT) g_interrupted = true;
       if (signal && signal != SIGINT) throw ExitRequest{status_of(signal)};
       return Value::nil();
     },
     {},
     Effect::Input},
    {"args",
     "State and host",
     "(args)",
     "The words after the program's name on the command line.",
     {{"(list? (args))", "true"}},
     0,
     0,
     args,
     {},
     Effect::Input},
    {"options",
     "State and host",
     "(options defaults [choices])",
     "Reads --name value and --name=value from the command line: the dict of defaults with the given ones replaced, "
     "each read as the type of its default. --flag and --no-flag set bools, a,b,c a list. choices, a dict of lists, "
     "says what some of them may be. `sheaf FILE -- --help` lists them all; names that sheaf has too, such as "
     "--verbose and --check, are also the program's only after the --.",
     {{"(options {:lr 0.1 :steps 100})", "{:lr 0.1, :steps 100}"},
      {"(options {:task \"train\"} {:task '[\"train\" \"eval\"]})", "{:task train}"}},
     1,
     2,
     options,
     {},
     Effect::Input},
    {"%program-options", "", "", "", {}, 0, 0, [](Call&) { return program_options(); }, {}, Effect::Input},
    {"exit",
     "State and host",
     "(exit [n])",
     "Ends the program with status n (default 0).",
     {{"(fn? exit)", "true"}},
     0,
     1,
     [](Call& c) -> Value { throw ExitRequest{c.size() ? static_cast<int>(to_index(c[0], "exit")) : 0}; },
     {},
     Effect::Input},
    {"env",
     "State and host",
     "(env name [default])",
     "An environment variable, or default (nil) when it is not set.",
     {{"(env \"SHEAF_NO_SUCH_NAME\" \"none\")", "none"}},
     1,
     2,
     env,
     {},
     Effect::Input},
    {"read-line",
     "State and host",
     "(read-line)",
     "The next line of standard input without its newline; nil at the end.",
     {{"(fn? read-line)", "true"}},
     0,
     0,
     read_line,
     {},
     Effect::Input},
};

}  // namespace

void set_program_args(std::vector<std::string> a) { program_args() = std::move(a); }

Value program_options() {
  MutexLock lock(kept_options().mu);
  std::vector<DictEntry> out;
  for (const auto& [name, text] : kept_options().texts)
    out.push_back({Name(name), Value::string(text)});
  return make_dict(std::move(out));
}

bool answer_with(int signal) {
  int none = 0;
  if (!g_asked || !g_answer.compare_exchange_strong(none, signal)) return false;
  // Another thread may have cleared g_asked meanwhile; then one of the two withdraws the answer.
  return g_asked || g_answer.exchange(0) == 0;
}

void interrupt() {
  if (!answer_with(SIGINT)) g_interrupted = true;
}

void clear_interrupts() {
  clear_stop();
  g_asked = false;
  g_answer = 0;
}

std::span<const BuiltinDef> process_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
