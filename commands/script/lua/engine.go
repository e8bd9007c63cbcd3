package lua

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lualib"
)

// Server is what a running script asks of the server.
type Server interface {
	// Call runs a command in a version of the protocol and returns its reply in that,
	// errors included. The reply is valid until the next call.
	Call(argv [][]byte, proto int) (reply []byte)
	// Allowed reports whether the user of the script may run a command. known is false
	// if there is no such command.
	Allowed(argv [][]byte) (allowed, known bool)
	// Log writes a line with a level of Redis, 0 to 3.
	Log(level int, text string)
	// Failed counts an error inside of the reply.
	Failed(err commands.WireError)
}

// Task is a script or a function with its arguments.
type Task struct {
	Script     *Script
	Function   *Function // if Script is nil
	Keys, Args [][]byte
}

// Flags are what is declared about it.
func (t *Task) Flags() *Flags {
	if t.Script != nil {
		return &t.Script.Flags
	}
	return &t.Function.Flags
}

// Run is one run of a task.
type Run struct {
	Task
	Server Server
	Reply  *commands.Reply
	Memory int64 // bytes that the script may use

	// Command is the call that runs it and Began when that came, in unix ms: what
	// FUNCTION STATS shows of a function.
	Command [][]byte
	Began   int64

	usage
	name    string      // the digest of the script, or the name of the function
	kind    kind        // of what runs
	loads   bool        // a library is loaded for the first time
	seen    time.Time   // when it was first looked at; used by Watch only
	loading *loading    // what registers functions now, or nil; used by the runner only
	proto   int         // chosen by redis.setresp
	written atomic.Bool // it has called a command that writes
}

// Engine runs scripts, one at a time. Scripts and SCRIPT KILL come from different
// goroutines; what only the runner uses is not guarded.
type Engine struct {
	scripts   scripts
	libraries atomic.Pointer[Libraries]
	guard     guard
	version   string              // of Redis that scripts see
	current   atomic.Pointer[Run] // nil if none runs
	wear      wear
	heavy     atomic.Bool // a script has used much memory since TookMuch

	// Scripts and functions have a state each, so that what the ones change of their
	// libraries, as the settings of cjson, is not seen by the others.
	stale [2]atomic.Bool // the state is not to be used any more; by kind

	// Used by the runner only.
	states [2]*state // by kind; nil until the first use
	state  *state    // of what runs
	world  *lualib.World
	made   int // states, so that functions of scripts know theirs
	call   argBuffer
}

// kind is the index of what belongs to scripts, or to functions.
type kind int

const (
	ofScript kind = iota
	ofFunction
)

// New returns an engine without scripts. processorTime is what os.clock returns.
func New(processorTime func() time.Duration) *Engine {
	e := &Engine{version: commands.RedisVersion, guard: guard{Context: context.Background()}, world: lualib.NewWorld(processorTime)}
	e.scripts.init()
	e.libraries.Store(NewLibraries())
	return e
}

// Report says which version of Redis scripts see. It is called before the first of them runs.
func (e *Engine) Report(version string) { e.version = version }

// state is a state of gopher-lua with the libraries, whose globals are read-only.
type state struct {
	*glua.LState
	number    int
	view      *glua.LTable // what scripts see as their globals
	index     *glua.LTable // its metatable
	globals   *glua.LTable // what is behind it for scripts of EVAL
	functions *glua.LTable // for functions
	loading   *glua.LTable // for libraries that register theirs
	used      *glua.LTable // which of them it is now
	failed    *glua.LFunction
	// keys and args are KEYS and ARGV of every script: it cannot keep them.
	keys, args *glua.LTable
	constants  []glua.LValue // of scripts, in the order of constants
	protected
}

// Options of states: deep recursion ends with an error of Lua.
var stateOptions = glua.Options{
	SkipOpenLibs: true, MinimizeStackMemory: true,
	CallStackSize: 16000, RegistrySize: 4 << 10, RegistryMaxSize: 256 << 10, RegistryGrowStep: 4 << 10,
}

func (e *Engine) newState() *state {
	e.made++
	s := &state{LState: glua.NewState(stateOptions), number: e.made}
	s.SetContext(&e.guard)
	lualib.Open(s.LState, &e.guard, e.world)
	openRedis(s, e)
	s.failed = s.NewFunction(placeError)
	s.protect()
	redis, _ := s.behind(s.globals.RawGetString("redis"))
	s.constants = []glua.LValue{s.keys, s.args, redis.RawGetString("call"), redis.RawGetString("pcall"),
		s.NewFunction(e.redisCallOnly), s.NewFunction(e.redisPcallOnly)}
	return s
}

// constants are the globals that nearly all scripts use, and that none can change.
var constants = []lualib.Constant{
	{Global: "KEYS"}, {Global: "ARGV"}, {Global: "redis", Field: "call"}, {Global: "redis", Field: "pcall"},
	{Global: "redis", Field: "call", Statement: true}, {Global: "redis", Field: "pcall", Statement: true},
}

// Run does the task of r. The error, if any, is the reply.
func (e *Engine) Run(r *Run) error {
	if r.Script == nil {
		return e.runFunction(r.Function, r)
	}
	return e.runScript(r.Script, r)
}

func (e *Engine) runScript(script *Script, r *Run) error {
	r.name = script.name
	e.begin(r)
	defer e.finish()
	s := e.state
	fn := script.in(s)
	s.use(s.globals)
	s.setStrings(s.keys, r.Keys)
	s.setStrings(s.args, r.Args)
	s.Push(fn)
	return e.execute(s, 0)
}

// execute calls the function on the stack with so many arguments, and writes its result
// as the reply.
func (e *Engine) execute(s *state, args int) error {
	r := e.current.Load()
	err := s.PCall(args, 1, s.failed)
	if why := e.guard.Err(); why != nil {
		where := ""
		if err != nil {
			where = placeOf(err)
		}
		e.state = nil
		return commands.Errorf("ERR %s script: %s%s", why, r.name, where)
	}
	if err != nil {
		return e.failure(err, r)
	}
	v := s.Get(-1)
	s.Pop(1)
	if t, ok := v.(*glua.LTable); ok {
		if err := errorOf(t); err != nil {
			return err
		}
	}
	w := replyWriter{reply: r.Reply, proto: r.proto, server: r.Server}
	w.write(v, 0)
	return nil
}

// begin prepares the state for a run.
func (e *Engine) begin(r *Run) {
	if e.state = e.states[r.kind]; e.stale[r.kind].Swap(false) {
		e.state = nil
	}
	if e.state == nil {
		e.state = e.newState()
		if r.kind == ofFunction {
			e.wear.renew()
		}
	}
	r.limit = r.Memory
	e.guard.run = r
	r.proto = 2
	e.current.Store(r)
}

// finish ends the run of begin. A state that was given up is not kept.
func (e *Engine) finish() {
	kind := e.guard.run.kind
	if e.guard.run.grew.Load() {
		e.heavy.Store(true)
	}
	e.current.Store(nil)
	e.guard.run = nil
	if kind == ofFunction && e.wear.out.Load() {
		e.state = nil
		e.heavy.Store(true)
	}
	e.states[kind] = e.state
	if s := e.state; s != nil {
		s.SetTop(0)
		s.reset()
		s.setStrings(s.keys, nil)
		s.setStrings(s.args, nil)
	}
}

// failure is the reply to a script that failed: the error, the script and the place.
func (e *Engine) failure(err error, r *Run) error {
	api, ok := err.(*glua.ApiError)
	if !ok {
		return commands.Errorf("ERR %s", err)
	}
	t, ok := api.Object.(*glua.LTable)
	if !ok && api.Type == glua.ApiErrorPanic { // there were too many calls to add the place
		e.state = nil
		return commands.Errorf("ERR user_script: stack overflow script: %s", r.name)
	}
	if !ok {
		return commands.Errorf("ERR Error running script %s, %.100s", r.name, api.Object)
	}
	message, _ := lualib.Text(t.RawGetString("err"))
	text := commands.Errorf("%s%s", message, place(t, r.name))
	if t.RawGetString("ignore_error_stats_update") == glua.LTrue {
		return commands.Counted(text)
	}
	return text
}

// place is the end of an error's text: which script and line it is from.
func place(t *glua.LTable, name string) string {
	source, line := t.RawGetString("source"), t.RawGetString("line")
	if !glua.LVCanConvToString(source) || !glua.LVCanConvToString(line) {
		return ""
	}
	return fmt.Sprintf(" script: %s, on %s:%s.", name, source, line)
}

// placeOf is the place of an error that ended the script from outside.
func placeOf(err error) string {
	if api, ok := err.(*glua.ApiError); ok {
		if t, ok := api.Object.(*glua.LTable); ok {
			if line := t.RawGetString("line"); line != glua.LNil {
				return fmt.Sprintf(", on %s:%s.", t.RawGetString("source"), line)
			}
		}
	}
	return "."
}

// placeError is called where an error is raised: it makes a table of the error and adds
// the place to it.
func placeError(L *glua.LState) int {
	t, ok := L.Get(1).(*glua.LTable)
	if !ok {
		t = L.NewTable()
		t.RawSetString("err", glua.LString("ERR "+glua.LVAsString(L.ToStringMeta(L.Get(1)))))
	}
	for level := 1; level <= 2; level++ { // the function that failed may be one in Go
		if source, line, ok := splitWhere(L.Where(level)); ok {
			t.RawSetString("source", glua.LString("@"+source))
			t.RawSetString("line", glua.LNumber(line))
			break
		}
	}
	L.Push(t)
	return 1
}

// splitWhere reads "source:line:".
func splitWhere(where string) (source string, line int, ok bool) {
	where = strings.TrimRight(where, ": ")
	at := strings.LastIndexByte(where, ':')
	if at < 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(where[at+1:])
	return where[:at], line, err == nil
}

// setStrings makes a table an array of strings, whatever it was before.
func (s *state) setStrings(t *glua.LTable, list [][]byte) {
	*t = glua.LTable{Metatable: glua.LNil}
	for i, b := range list {
		if i == 0 {
			*t = *s.CreateTable(len(list), 0)
		}
		t.Append(glua.LString(b))
	}
}

// Reasons to end scripts: the server is closed; the reply to a command is too long.
const (
	Shutdown = errShutdown
	NoMemory = errMemory
)

// End ends the run, for a reason. One that is over already stays as it was.
func (r *Run) End(why string) { r.end(why) }

// loadTimeout is how long a library may take to register its functions, from the first
// time that it is looked at, as in Redis.
const loadTimeout = 500 * time.Millisecond

// Watch ends the running script if it uses too much memory, and a library that is loaded
// if it takes too long. It is called every few milliseconds while scripts are in use.
// memory is what libraries may keep.
func (e *Engine) Watch(now time.Time, memory int64) {
	e.wear.look(memory)
	r := e.current.Load()
	if r == nil {
		return
	}
	r.look(0)
	switch {
	case !r.loads:
	case r.seen.IsZero():
		r.seen = now
	case now.Sub(r.seen) >= loadTimeout:
		r.end(errLoadTimeout)
	}
}

// TookMuch reports whether scripts that are over have used much memory since the last call.
func (e *Engine) TookMuch() bool { return e.heavy.Load() && e.heavy.Swap(false) }

// Current returns what runs, or nil.
func (e *Engine) Current() *Run { return e.current.Load() }

// Wrote notes that the running script writes: it cannot be killed any more.
func (e *Engine) Wrote() {
	if r := e.current.Load(); r != nil {
		r.written.Store(true)
	}
}

// RunsFunction reports whether what runs is a function.
func (e *Engine) RunsFunction() bool {
	r := e.current.Load()
	return r != nil && r.kind == ofFunction
}

// Kill ends the running script, or function if that is what is asked for.
func (e *Engine) Kill(function bool) error {
	r := e.current.Load()
	switch {
	case r == nil:
		return ErrNotBusy
	case r.written.Load():
		return ErrUnkillable
	case function && r.kind == ofScript:
		return ErrBusyScript
	case !function && r.kind == ofFunction:
		return ErrBusyFunction
	case function:
		r.end(errFunctionKill)
	default:
		r.end(errKilled)
	}
	return nil
}

// Name is the name of the function that runs; ok is false for scripts, and while a
// library is loaded.
func (r *Run) Name() (name string, ok bool) { return r.name, r.kind == ofFunction && !r.loads }

// Running reports whether a script or function runs.
func (e *Engine) Running() bool { return e.current.Load() != nil }
