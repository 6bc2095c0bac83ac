" Vim syntax file for Sheaf (.shf)
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax iskeyword @,33,35-38,42,43,45-58,60-64,94,95,124

syntax match sheafComment ";.*$" contains=sheafTodo,@Spell
syntax keyword sheafTodo TODO FIXME NOTE contained
syntax region sheafString start=+"+ skip=+\\.+ end=+"+ contains=sheafBadEscape,sheafEscape,sheafPlaceholder,@Spell
syntax region sheafString start=+\k\@<!#r"+ end=+"+
syntax match sheafBadEscape "\\." contained
syntax match sheafEscape "\\[ntre\\\"]\|\\0\d\@!\|\\x\x\{2}\|\\u\x\{4}\|\\u{\x\+}" contained
syntax match sheafPlaceholder "{\(:[^{}\"]*\)\?}" contained

syntax match sheafQuote "\~@\|[`'~]"
syntax match sheafKeyword "\k\@<!:\k*"
syntax match sheafNumber "\k\@<![+-]\?\d\+\.\?\d*\([eE][+-]\?\d\+\)\?\k\@!"
syntax match sheafNumber "\k\@<![+-]\?\.\d\+\([eE][+-]\?\d\+\)\?\k\@!"
syntax match sheafNumber "\c\k\@<![+-]\?\(inf\|infinity\|nan\)\k\@!"
syntax keyword sheafConstant true false nil

syntax keyword sheafDefine def defn defn- defmacro deftest defmodel defbatch
syntax keyword sheafSpecial fn let if do case while repeat guard quote -> ->> as-> use with-params
syntax keyword sheafSpecial value-and-grad and or when unless cond comment assert loop recur for doseq try
syntax keyword sheafSpecial catch time-it future await

syntax keyword sheafFunction + - * / // mod % ** abs ash exp log sqrt sin cos tan tanh round ceil floor @
syntax keyword sheafFunction einsum = == != < > <= >= not shape ndim len count int float cast zeros ones eye
syntax keyword sheafFunction arange range one-hot tril tensor reshape transpose tr swapaxes slice
syntax keyword sheafFunction dynamic-slice concat tensor-split roll flip index-update append-and-roll where
syntax keyword sheafFunction normalize sum mean product min max var argmax argmin minimum maximum first second
syntax keyword sheafFunction last rest nth cons append empty? chars index-of sort top_k map filter find reduce
syntax keyword sheafFunction scan apply vmap tree-map tree-reduce tree-map-zeros flatten dict get get-in assoc
syntax keyword sheafFunction dissoc merge keys vals print println str str-call gensym symbol? time
syntax keyword sheafFunction stop-gradient random-key random-split random-uniform random-normal random-randint
syntax keyword sheafFunction choice io grad vjp jvp jacobian hessian checkpoint custom-vjp list tuple zip
syntax keyword sheafFunction enumerate partition group-by update update-in assoc-in zipmap comp partial
syntax keyword sheafFunction identity some every? take inc dec atom deref reset! swap! interrupted? args
syntax keyword sheafFunction options exit env read-line now-ns error json-str json-read parse-int parse-float
syntax keyword sheafFunction describe spy tap pp dtype type int? float? number? string? list? dict? tensor?
syntax keyword sheafFunction fn? nil? is is-close throws equal? allclose dims item at at-set at-add span stack
syntax keyword sheafFunction pad split take-along-axis scatter-add cumsum cumprod argsort sign clip isnan
syntax keyword sheafFunction isinf erf expm1 log1p atan2 logsumexp outer std norm triu linspace full squeeze
syntax keyword sheafFunction expand-dims broadcast-to tile moveaxis any all logical-and logical-or logical-not
syntax keyword sheafFunction logical-xor conv1d conv2d conv-transpose max-pool avg-pool upsample nonzero
syntax keyword sheafFunction mark-dynamic mark-static check random-fold-in random-permutation random-bernoulli
syntax keyword sheafFunction random-categorical random-truncated-normal relu sigmoid silu gelu leaky-relu selu
syntax keyword sheafFunction celu softmax log-softmax linear dropout layer-norm rms-norm batch-norm group-norm
syntax keyword sheafFunction embedding gru-cell lstm-cell rope attention kv-cache cached-attention
syntax keyword sheafFunction cross-entropy-loss mse-loss mae-loss clamp xavier-uniform xavier-normal
syntax keyword sheafFunction kaiming-uniform kaiming-normal lecun-uniform lecun-normal sgd-step
syntax keyword sheafFunction sgd-momentum-step adam-step adamw-step global-norm clip-by-global-norm
syntax keyword sheafFunction linear-warmup inverse-sqrt-warmup exponential-decay step-decay cosine-decay
syntax keyword sheafFunction random-range
syntax match sheafFunction "\k\@<!contains?\k\@!"

syntax sync fromstart

highlight default link sheafComment Comment
highlight default link sheafTodo Todo
highlight default link sheafString String
highlight default link sheafEscape SpecialChar
highlight default link sheafBadEscape Error
highlight default link sheafPlaceholder SpecialChar
highlight default link sheafQuote Operator
highlight default link sheafKeyword Identifier
highlight default link sheafNumber Number
highlight default link sheafConstant Constant
highlight default link sheafDefine Define
highlight default link sheafSpecial Statement
highlight default link sheafFunction Function

let b:current_syntax = "sheaf"
