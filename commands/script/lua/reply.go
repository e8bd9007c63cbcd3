package lua

import (
	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
)

// maxReplyDepth is how deeply tables may be nested in a reply.
const maxReplyDepth = 1000

// replyWriter writes the value that a script returns as its reply.
type replyWriter struct {
	reply  *commands.Reply
	proto  int // chosen by redis.setresp
	server Server
}

// write writes a value. Tables with a field of a certain name are types that Lua does not
// have; others are arrays up to the first nil.
func (w *replyWriter) write(v glua.LValue, depth int) {
	switch v := v.(type) {
	case glua.LString:
		w.reply.BulkString(string(v))
	case glua.LNumber:
		w.reply.Int(toInt64(float64(v)))
	case glua.LBool:
		switch {
		case w.proto == 3:
			w.reply.Bool(bool(v))
		case bool(v):
			w.reply.Int(1)
		default:
			w.reply.Null()
		}
	case *glua.LTable:
		if depth >= maxReplyDepth {
			w.reply.Error("ERR " + errStackLimit)
			return
		}
		if !w.writeTyped(v, depth) {
			w.writeArray(v, depth)
		}
	default:
		w.reply.Null()
	}
}

func (w *replyWriter) writeArray(t *glua.LTable, depth int) {
	n := t.Len() // where the array may end; it ends at the first nil
	for i := 1; i <= n; i++ {
		if t.RawGetInt(i) == glua.LNil {
			n = i - 1
		}
	}
	w.reply.Array(n)
	for i := 1; i <= n; i++ {
		w.write(t.RawGetInt(i), depth+1)
	}
}

// writeTyped writes a table that stands for another type; it returns false if t does not.
func (w *replyWriter) writeTyped(t *glua.LTable, depth int) bool {
	if err := errorOf(t); err != nil {
		text, _ := commands.Text(err)
		if _, counted := err.(commands.Counted); !counted {
			w.server.Failed(text)
		}
		w.reply.Error(text)
		return true
	}
	if text, ok := t.RawGetString("ok").(glua.LString); ok {
		w.reply.Status(string(text))
		return true
	}
	if v, ok := t.RawGetString("double").(glua.LNumber); ok {
		w.reply.Double(float64(v))
		return true
	}
	if text, ok := t.RawGetString("big_number").(glua.LString); ok {
		w.reply.BigNumber(string(text))
		return true
	}
	if v, ok := t.RawGetString("verbatim_string").(*glua.LTable); ok {
		format, isFormat := v.RawGetString("format").(glua.LString)
		text, isText := v.RawGetString("string").(glua.LString)
		if isFormat && isText {
			w.reply.Verbatim((string(format) + "   ")[:3], []byte(text))
			return true
		}
	}
	if m, ok := t.RawGetString("map").(*glua.LTable); ok {
		w.reply.MapLater(func() int { return w.writePairs(m, depth, true) })
		return true
	}
	if m, ok := t.RawGetString("set").(*glua.LTable); ok {
		w.reply.SetLater(func() int { return w.writePairs(m, depth, false) })
		return true
	}
	return false
}

// errorOf returns the error that a table stands for, or nil.
func errorOf(t *glua.LTable) error {
	text, ok := t.RawGetString("err").(glua.LString)
	switch {
	case !ok:
		return nil
	case t.RawGetString("ignore_error_stats_update") == glua.LTrue:
		return commands.Counted(commands.Errorf("%s", text))
	}
	return commands.Errorf("%s", text)
}

// writePairs writes the keys of a table, and its values if asked.
func (w *replyWriter) writePairs(t *glua.LTable, depth int, values bool) (n int) {
	t.ForEach(func(k, v glua.LValue) {
		w.write(k, depth+1)
		if values {
			w.write(v, depth+1)
		}
		n++
	})
	return n
}

// toInt64 converts as C does on the usual processors.
func toInt64(f float64) int64 {
	if f >= 1<<63 || f < -(1<<63) || f != f {
		return -1 << 63
	}
	return int64(f)
}
