package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lualib"
)

// openRedis makes the table redis.
func openRedis(s *state, e *Engine) {
	t := s.NewTable()
	for name, fn := range map[string]glua.LGFunction{
		"call": e.redisCall, "pcall": e.redisPcall, "log": e.redisLog, "setresp": e.redisSetResp,
		"acl_check_cmd": e.redisAllowed, "set_repl": e.redisSetRepl, "replicate_commands": redisTrue,
		"error_reply": redisErrorReply, "status_reply": redisStatusReply, "sha1hex": redisSHA1,
		"breakpoint": redisFalse, "debug": redisNothing, "register_function": e.redisRegister,
	} {
		t.RawSetString(name, s.NewFunction(fn))
	}
	for name, n := range map[string]int{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
		"REDIS_VERSION_NUM": commands.VersionNumber(e.version),
	} {
		t.RawSetString(name, glua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", glua.LString(e.version))
	s.SetGlobal("redis", t) // protect adds the name server
}

// argBuffer holds the arguments of one call of a command.
type argBuffer struct {
	bytes []byte
	ends  []int
	argv  [][]byte
}

// keepArgs is the most memory that is kept between calls.
const keepArgs = 64 << 10

// read copies the arguments of the Lua function; ok is false if one is neither a string nor
// a number.
func (b *argBuffer) read(L *glua.LState, g *guard) (argv [][]byte, ok bool) {
	if cap(b.bytes) > keepArgs {
		b.bytes = nil
	}
	b.bytes, b.ends, b.argv = b.bytes[:0], b.ends[:0], b.argv[:0]
	for i := 1; i <= L.GetTop(); i++ {
		switch v := L.Get(i).(type) {
		case glua.LString:
			if len(v) > keepArgs && g.Take(len(v)) != nil {
				return nil, false
			}
			b.bytes = append(b.bytes, v...)
		case glua.LNumber:
			b.bytes = appendNumber(b.bytes, float64(v))
		default:
			return nil, false
		}
		b.ends = append(b.ends, len(b.bytes))
	}
	from := 0
	for _, end := range b.ends {
		b.argv = append(b.argv, b.bytes[from:end:end])
		from = end
	}
	return b.argv, true
}

// appendNumber writes a number as Redis from 7.4 on does: the shortest text that reads back
// as the same number, without the sign of zero.
func appendNumber(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		return append(dst, '0')
	case f != f && math.Signbit(f): // what operations yield on the usual processors
		return append(dst, "-nan"...)
	}
	return commands.AppendFloat(dst, f)
}

func (e *Engine) redisCall(L *glua.LState) int {
	v := e.callCommand(L)
	if t, ok := v.(*glua.LTable); ok && t.RawGetString("err") != glua.LNil {
		L.Error(t, 0)
	}
	L.Push(v)
	return 1
}

func (e *Engine) redisPcall(L *glua.LState) int {
	L.Push(e.callCommand(L))
	return 1
}

// redisCallOnly is redis.call where nothing uses the reply: values are made of errors only.
func (e *Engine) redisCallOnly(L *glua.LState) int {
	if reply, wrong := e.sendCommand(L); wrong != nil {
		L.Error(wrong, 0)
	} else if reply[0] == '-' {
		d := decoder{L, reply}
		L.Error(d.value(), 0)
	}
	return 0
}

// redisPcallOnly is redis.pcall where nothing uses the reply.
func (e *Engine) redisPcallOnly(L *glua.LState) int {
	e.sendCommand(L)
	return 0
}

// sendCommand runs a command and returns its reply, or what is wrong with the call.
func (e *Engine) sendCommand(L *glua.LState) (reply []byte, wrong *glua.LTable) {
	run := e.running(L, "redis.call/pcall")
	if L.GetTop() == 0 {
		return nil, errorTable(L, "ERR "+errNoArguments, false)
	}
	argv, ok := e.call.read(L, &e.guard)
	if !ok {
		return nil, errorTable(L, "ERR "+errArguments, false)
	}
	return run.Server.Call(argv, run.proto), nil
}

// callCommand runs a command and returns its reply as a value.
func (e *Engine) callCommand(L *glua.LState) glua.LValue {
	reply, wrong := e.sendCommand(L)
	if wrong != nil {
		return wrong
	}
	if len(reply) > keepArgs && e.guard.Take(4*len(reply)) != nil {
		L.RaiseError("%s", errMemory)
	}
	d := decoder{L, reply}
	return d.value()
}

// running returns the script that runs. While a library is loaded there is none.
func (e *Engine) running(L *glua.LState, name string) *Run {
	run := e.current.Load()
	if run == nil || run.Server == nil {
		raise(L, name+" can only be called inside a script invocation")
	}
	return run
}

// raise raises an error that is a table, as those of redis.call are.
func raise(L *glua.LState, text string) { L.Error(errorTable(L, "ERR "+text, false), 0) }

func (e *Engine) redisAllowed(L *glua.LState) int {
	run := e.running(L, "redis.acl_check_cmd")
	if L.GetTop() == 0 {
		raise(L, errNoArguments)
	}
	argv, ok := e.call.read(L, &e.guard)
	if !ok {
		raise(L, errArguments)
	}
	allowed, known := run.Server.Allowed(argv)
	if !known {
		raise(L, errCommand)
	}
	L.Push(glua.LBool(allowed))
	return 1
}

func (e *Engine) redisSetResp(L *glua.LState) int {
	run := e.running(L, "redis.setresp")
	if L.GetTop() != 1 {
		raise(L, errSetResp)
	}
	switch proto := int(glua.LVAsNumber(L.Get(1))); proto {
	case 2, 3:
		run.proto = proto
	default:
		raise(L, errRespVersion)
	}
	return 0
}

// redisSetRepl checks its argument. All effects of a script are one record of the journal.
func (e *Engine) redisSetRepl(L *glua.LState) int {
	e.running(L, "redis.set_repl")
	if L.GetTop() != 1 {
		raise(L, errSetRepl)
	}
	if flags := int(glua.LVAsNumber(L.Get(1))); flags&^3 != 0 {
		raise(L, errReplFlags)
	}
	return 0
}

func (e *Engine) redisLog(L *glua.LState) int {
	n := L.GetTop()
	if n < 2 {
		raise(L, errLogArgs)
	}
	number, ok := lualib.Number(L.Get(1))
	if !ok {
		raise(L, errLogNumber)
	}
	level := int(number)
	if level < 0 || level > 3 {
		raise(L, errLogLevel)
	}
	var words []string
	for i := 2; i <= n; i++ {
		if word, ok := lualib.Text(L.Get(i)); ok {
			words = append(words, word)
		}
	}
	if run := e.current.Load(); run != nil && run.Server != nil {
		run.Server.Log(level, strings.Join(words, " "))
	}
	return 0
}

func redisSHA1(L *glua.LState) int {
	if L.GetTop() != 1 {
		raise(L, errOneArgument)
	}
	text, _ := lualib.Text(L.Get(1)) // of other values "", as in Redis
	sum := sha1.Sum([]byte(text))
	L.Push(glua.LString(hex.EncodeToString(sum[:])))
	return 1
}

// oneString returns the only argument, which must be a string. Otherwise ok is false,
// and an error was pushed: these functions return it and do not raise it.
func oneString(L *glua.LState) (s string, ok bool) {
	text, ok := L.Get(1).(glua.LString)
	if L.GetTop() != 1 || !ok {
		L.Push(errorTable(L, "ERR "+errOneString, false))
		return "", false
	}
	return string(text), true
}

func redisErrorReply(L *glua.LState) int {
	text, ok := oneString(L)
	if !ok {
		return 1
	}
	L.Push(errorTable(L, strings.Trim(strings.TrimPrefix(text, "-"), "\r\n"), false))
	return 1
}

func redisStatusReply(L *glua.LState) int {
	text, ok := oneString(L)
	if !ok {
		return 1
	}
	t := L.CreateTable(0, 1)
	t.RawSetString("ok", glua.LString(text))
	L.Push(t)
	return 1
}

// redisTrue is replicate_commands, which always has an effect.
func redisTrue(L *glua.LState) int { L.Push(glua.LTrue); return 1 }

// redisFalse is breakpoint: there is no debugger.
func redisFalse(L *glua.LState) int { L.Push(glua.LFalse); return 1 }

func redisNothing(*glua.LState) int { return 0 }
