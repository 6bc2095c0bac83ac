#include "tools/trace_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "builtins/table.h"
#include "compiler/eager.h"
#include "formats/json.h"
#include "tools/terminal.h"
#include "trace/traced.h"
#include "value/dict.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::tools {
namespace {

constexpr size_t kRecentLines = 100;
constexpr size_t kMaxIndent = 200;  // a runaway recursion must not write lines of a megabyte

std::string indent_text(size_t depth) {
  std::string out;
  for (size_t i = 0; i < std::min(depth, kMaxIndent); ++i)
    out += "│ ";
  return out;
}

std::string bytes_text(double n) {
  if (n < 1024) return fmt::format("{:.0f}B", n);
  if (n < 1024 * 1024) return fmt::format("{:.1f}KB", n / 1024);
  return fmt::format("{:.1f}MB", n / (1024 * 1024));
}

std::string tensor_text(const Tensor& t) {
  std::string out = tensor_type_text(t);
  builtins::Extent x = builtins::extent_of(t);
  if (t.num_elems() > 0) out += fmt::format(" [min:{} max:{}]", builtins::scientific(x.lo), builtins::scientific(x.hi));
  out += fmt::format(" ({})", bytes_text(static_cast<double>(t.num_elems()) * size_bytes(t.dtype)));
  return x.finite ? out : out + " [NaN DETECTED]";
}

std::string arity_text(const Value& f) {
  if (f.tag() == Tag::Function) return std::to_string(static_cast<eval::Closure*>(f.object())->proto->params.size());
  auto* b = dynamic_cast<builtins::BuiltinObj*>(f.object());
  return b && b->def->min_args == b->def->max_args ? std::to_string(b->def->min_args) : "*";
}

struct Odd {
  bool nan = false, infinite = false;
};

Odd odd_elements(const Tensor& t) {
  Odd odd;
  if (!is_float(t.dtype)) return odd;
  for_each_offset(t, [&](int64_t offset) {
    double x = load_double(t.dtype, t.buffer->host() + offset * size_bytes(t.dtype));
    odd.nan |= std::isnan(x);
    odd.infinite |= std::isinf(x);
  });
  return odd;
}

// The forms that last produced NaN, and infinity, from finite operands.
thread_local Span nan_made_at, infinity_made_at;

void note_origin(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  Odd before, after;
  auto add = [](Odd& sum, const Tensor& t) {
    Odd odd = odd_elements(t);
    sum.nan |= odd.nan;
    sum.infinite |= odd.infinite;
  };
  for (const Tensor& t : outputs)
    add(after, t);
  if (!after.nan && !after.infinite) return;
  for (const Tensor& t : inputs)
    add(before, t);
  if (after.nan && !before.nan) nan_made_at = trace::current_span();
  if (after.infinite && !before.infinite) infinity_made_at = trace::current_span();
}

// The origin of what --guard no-nan found, if an array operation produced it.
UserError origin_of(const Value& result) {
  UserError where = runtime_error("");
  Odd odd;
  each_leaf(result, [&](const Value& v) {
    if (v.tag() != Tag::Tensor) return;
    Odd leaf = odd_elements(v.as_tensor());
    odd.nan |= leaf.nan;
    odd.infinite |= leaf.infinite;
  });
  where.span = odd.nan ? nan_made_at : odd.infinite ? infinity_made_at : Span{};
  if (where.span) where.label = odd.nan ? "NaN came up here" : "infinity came up here";
  return where;
}

}  // namespace

std::string trace_text(const Value& v) {
  switch (v.tag()) {
    case Tag::Tensor: return tensor_text(v.as_tensor());
    case Tag::Float: return std::isfinite(v.as_float()) ? fmt::format("{:.6f}", v.as_float()) : render(v);
    case Tag::String: return brief_string(v.as_string());
    case Tag::List: return fmt::format("list(len:{})", v.items().size());
    case Tag::Tuple: return fmt::format("tuple(len:{})", v.items().size());
    case Tag::Function:
    case Tag::Builtin: return "fn/" + arity_text(v);
    case Tag::Dict: {
      std::string keys;
      for (const DictEntry& e : v.as_dict().entries())
        keys += (keys.empty() ? "\"" : ", \"") + e.key.str() + "\"";
      return "dict(keys:[" + keys + "])";
    }
    case Tag::Traced: {
      Value now = v.as_traced()->concrete();
      return now.is_nil() ? v.as_traced()->describe() : trace_text(now);
    }
    default: return short_text(v);
  }
}

std::string trace_time_text(std::chrono::nanoseconds t) {
  double us = static_cast<double>(t.count()) / 1e3;
  if (us < 10) return fmt::format("{:.1f}μs", us);
  if (us < 1000) return fmt::format("{:.2f}ms", us / 1e3);
  return fmt::format("{:.0f}ms", us / 1e3);
}

TraceObserver::TraceObserver(const Options& o)
    : CallObserver(o.trace_level >= 3),
      print_(o.trace),
      level_(o.trace_level),
      functions_(o.traced.begin(), o.traced.end()),
      guards_(o.guards) {
  bool finite = std::any_of(guards_.begin(), guards_.end(),
                            [](const GuardSpec& g) { return g.check.kind == builtins::GuardCheck::NoNan; });
  if (finite) compiler::g_op_listener = note_origin;
  if (o.trace_out.empty()) return;
  out_ = std::fopen(o.trace_out.c_str(), "w");
  if (!out_) throw UsageError(fmt::format("cannot write '{}': {}", o.trace_out, std::strerror(errno)));
}

TraceObserver::~TraceObserver() {
  compiler::g_op_listener = nullptr;
  if (out_) std::fclose(out_);
}

bool TraceObserver::is_watched(eval::Callee kind, std::string_view name) const {
  if (std::this_thread::get_id() != thread_) return false;
  if (!functions_.empty()) return functions_.contains(name);
  return kind == eval::Callee::Function || level_ >= 3;
}

void TraceObserver::line(std::string text) {
  if (print_) say(text);
  recent_.push_back(std::move(text));
  if (recent_.size() > kRecentLines) recent_.pop_front();
}

void TraceObserver::event(const char* what, std::string_view name, size_t depth,
                          std::vector<std::pair<const char*, Value>> more) {
  if (!out_) return;
  std::vector<DictEntry> entries;
  entries.push_back({Name("event"), Value::string(what)});
  entries.push_back({Name("function"), Value::string(std::string(name))});
  entries.push_back({Name("depth"), Value::integer(static_cast<int64_t>(depth))});
  entries.push_back(
      {Name("at_us"),
       Value::integer(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count())});
  for (auto& [key, v] : more)
    entries.push_back({Name(key), std::move(v)});
  std::string text = formats::write_json(make_dict(std::move(entries)), {.tagged = false});
  std::erase(text, '\n');
  std::fprintf(out_, "%s\n", text.c_str());
}

void TraceObserver::enter(eval::Callee kind, std::string_view name, std::span<const Value> args) {
  if (!is_watched(kind, name)) return;
  breached_ = false;
  Clock::time_point before = Clock::now();
  std::string text;
  std::vector<Value> texts;
  if (level_ >= 2) {
    for (const Value& v : args) {
      std::string arg = trace_text(v);
      text += (text.empty() ? " " : ", ") + arg;
      if (out_) texts.push_back(Value::string(std::move(arg)));
    }
  }
  event("call", name, open_.size(), {{"args", Value::list(std::move(texts))}});
  line(fmt::format("{}├─ [{}]{}", indent_text(open_.size()), name, text));
  Clock::time_point start = Clock::now();
  overhead_ += start - before;
  open_.push_back({start, overhead_});
}

// `result` is nullptr if the call failed. The time of logging itself is charged to no function.
void TraceObserver::finish(std::string_view name, const Value* result, Clock::time_point now) {
  Open& top = open_.back();
  auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - top.start - (overhead_ - top.overhead));
  std::string text = !result ? "error" : level_ >= 2 ? trace_text(*result) : "";
  line(fmt::format("{}└─ <-{}{} ({})", indent_text(open_.size() - 1), text.empty() ? "" : " ", text,
                   trace_time_text(elapsed)));
  Value us = Value::floating(static_cast<float>(elapsed.count()) / 1e3f);
  if (result)
    event("return", name, open_.size() - 1, {{"result", Value::string(text)}, {"elapsed_us", us}});
  else
    event("error", name, open_.size() - 1, {{"elapsed_us", us}});
  overhead_ += Clock::now() - now;
}

void TraceObserver::check_guards(eval::Callee kind, std::string_view name, const Value& result) {
  if (kind != eval::Callee::Function || (!functions_.empty() && !functions_.contains(name))) return;
  for (const GuardSpec& g : guards_) {
    if (!g.function.empty() && g.function != name) continue;
    auto message = builtins::breach(g.check, result);
    if (!message) continue;
    breached_ = true;
    bool odd = g.check.kind == builtins::GuardCheck::NoNan;
    throw builtins::GuardBreach{builtins::check_text(g.check), *message, std::string(name),
                                odd ? origin_of(result) : runtime_error("")};
  }
}

void TraceObserver::leave(eval::Callee kind, std::string_view name, const Value& result) {
  bool watched = is_watched(kind, name);
  if (watched) finish(name, &result, Clock::now());
  check_guards(kind, name, result);  // throws: then unwind removes the entry
  if (watched) open_.pop_back();
}

void TraceObserver::unwind(eval::Callee kind, std::string_view name) {
  if (!is_watched(kind, name) || open_.empty()) return;
  if (!breached_) finish(name, nullptr, Clock::now());
  open_.pop_back();
}

}  // namespace sheaf::tools
