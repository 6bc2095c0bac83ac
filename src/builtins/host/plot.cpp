// (plot data [options]) and (log-metrics path step values).
#include <optional>

#include "builtins/core/numeric.h"
#include "builtins/core/text.h"
#include "builtins/host/families.h"
#include "builtins/host/output.h"
#include "builtins/host/plot_drawing.h"
#include "builtins/host/plot_text.h"
#include "builtins/host/series.h"
#include "formats/files.h"
#include "formats/metrics.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

Curve curve_of(std::string name, const Value& v, const Value* x) {
  Curve c{std::move(name), {}, series_of(v, "plot")};
  if (x)
    c.x = series_of(*x, "plot");
  else
    for (size_t i = 0; i < c.y.size(); ++i)
      c.x.push_back(static_cast<double>(i));
  if (c.x.size() != c.y.size())
    throw runtime_error("plot: " + (c.name.empty() ? "the curve" : ":" + c.name) + " has " +
                        std::to_string(c.y.size()) + " points, :x has " + std::to_string(c.x.size()));
  return c;
}

std::string picture_path(const Value& v) {
  std::string path = text_of(v);
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    throw runtime_error("plot: :file must end in .svg or .png, got " + short_text(v));
  return path;
}

Value plot(Call& c) {
  PlotOptions o;
  o.width = std::clamp(terminal_width(), 40, 200);
  o.colour = is_terminal_out();
  std::optional<std::string> file;
  Value x;
  if (c.size() > 1 && !c[1].is_dict() && !c[1].is_nil())
    throw runtime_error("plot: expected a dict of options, got " + short_text(c[1]));
  if (c.size() > 1 && c[1].is_dict())
    for (const DictEntry& e : c[1].as_dict().entries()) {
      const std::string& name = e.key.str();
      if (name == "title")
        o.title = text_of(e.value);
      else if (name == "x-label")
        o.x_label = text_of(e.value);
      else if (name == "y-label")
        o.y_label = text_of(e.value);
      else if (name == "file")
        file = picture_path(e.value);
      else if (name == "width")
        o.width = static_cast<int>(std::clamp<int64_t>(to_index(e.value, "plot"), 20, 1000));
      else if (name == "height")
        o.height = static_cast<int>(std::clamp<int64_t>(to_index(e.value, "plot"), 3, 200));
      else if (name == "log")
        o.log_y = is_true(e.value);
      else if (name == "x")
        x = e.value;
      else
        throw runtime_error("plot: unknown option :" + name +
                            ". Known options: :file :height :log :title :width :x :x-label :y-label");
    }
  std::vector<Curve> curves;
  const Value* xs = x.is_nil() ? nullptr : &x;
  if (c[0].is_dict())
    for (const DictEntry& e : c[0].as_dict().entries())
      curves.push_back(curve_of(e.key.str(), e.value, xs));
  else
    curves.push_back(curve_of("", c[0], xs));
  if (!file) {
    write_out(plot_text(curves, o));
    return {};
  }
  Drawing drawing = plot_drawing(curves, o);
  formats::write_file(*file, file->ends_with(".png") ? png_of(drawing) : svg_of(drawing), "plot");
  return {};
}

Value log_metrics(Call& c) {
  if (!c[0].is_string()) throw runtime_error("log-metrics: path must be a string, got " + std::string(type_name(c[0])));
  Value values = trace::concrete_tree(c[2]);
  if (!values.is_dict()) throw runtime_error("log-metrics: expected a dict of numbers, got " + short_text(values));
  std::vector<formats::Metric> metrics;
  for (const DictEntry& e : values.as_dict().entries())
    metrics.push_back({e.key.str(), to_double(e.value, "log-metrics")});
  formats::append_metrics(c[0].as_string(), to_index(c[1], "log-metrics"), metrics);
  return {};
}

// (%cut-log path step): what was taken back of a log when a training goes on from `step`, as text; nil: nothing.
// Without a step another training begins, and what is there is set aside.
Value cut_log(Call& c) {
  const std::string& path = c[0].as_string();
  std::string done =
      c[1].is_nil() ? formats::begin_metrics(path) : formats::cut_metrics(path, to_index(c[1], "training-loop"));
  return done.empty() ? Value() : Value::string(std::move(done));
}

const BuiltinDef kBuiltins[] = {
    {"%cut-log", "", "", "", {}, 2, 2, cut_log, {}, Effect::Output},
    {"plot",
     "Looking",
     "(plot data [options])",
     "Draws curves: a dict of rows of numbers (lists or tensors) by name, or one row. Without :file as text for a "
     "terminal, else as the picture that its name asks for, .svg or .png. Options, in a dict: "
     ":title, :file, :x (positions, default 0 1 2 …), :log (logarithmic height), :width and :height in characters, "
     ":x-label, :y-label.",
     {{"(plot [0 1 2 3] {:width 24 :height 3})",
       "        3 ┤         ⣠⠤⠒⠉\n      1.5 ┤    ⣀⡠⠔⠊⠉\n        0 ┤⣀⠤⠒⠋\n          └─────────────\n           0        "
       "   3"},
      {"(do (plot {:train [3 2 1] :val [3 3 2]} {:title \"loss\" :file \"loss.png\"}) (shape (io \"load\" "
       "\"loss.png\")))",
       "[ 864. 1440.    3.]"}},
     1,
     2,
     plot,
     {},
     Effect::Output},
    {"log-metrics",
     "Looking",
     "(log-metrics path step values)",
     "Adds the numbers of a dict to a log: a line of JSON when path ends in .jsonl, else an event file for TensorBoard "
     "in the directory path.",
     {{"(do (log-metrics \"log.jsonl\" 7 {:loss 0.5 :lr 0.1}) (last (io \"load\" \"log.jsonl\")))",
       "{:loss 0.5, :lr 0.1, :step 7}"}},
     3,
     3,
     log_metrics,
     {},
     Effect::Output},
};

}  // namespace

std::span<const BuiltinDef> plot_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
