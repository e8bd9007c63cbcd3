package admin

import "github.com/vigildb/vigil/commands"

// protocolReplies are the replies of DEBUG PROTOCOL, one of each type, for tests of
// clients. They are the same as in Redis.
var protocolReplies = map[string]func(r *commands.Reply) error{
	"STRING":  func(r *commands.Reply) error { r.BulkString("Hello World"); return nil },
	"INTEGER": func(r *commands.Reply) error { r.Int(12345); return nil },
	"DOUBLE":  func(r *commands.Reply) error { r.Double(3.141); return nil },
	"BIGNUM":  func(r *commands.Reply) error { r.BigNumber("1234567999999999999999999999999999999"); return nil },
	"NULL":    func(r *commands.Reply) error { r.Null(); return nil },
	"TRUE":    func(r *commands.Reply) error { r.Bool(true); return nil },
	"FALSE":   func(r *commands.Reply) error { r.Bool(false); return nil },
	"VERBATIM": func(r *commands.Reply) error {
		r.Verbatim("txt", []byte("This is a verbatim\nstring"))
		return nil
	},
	"ARRAY": func(r *commands.Reply) error {
		r.Array(3)
		return counting(r)
	},
	"SET": func(r *commands.Reply) error {
		r.Set(3)
		return counting(r)
	},
	"MAP": func(r *commands.Reply) error {
		r.Map(3)
		for i := range 3 {
			r.Int(int64(i))
			r.Bool(i == 1)
		}
		return nil
	},
	"ATTRIB": func(r *commands.Reply) error {
		if r.Proto() >= 3 {
			r.Attribute(1)
			r.BulkString("key-popularity")
			r.Array(2)
			r.BulkString("key:123")
			r.Int(90)
		}
		r.BulkString("Some real reply following the attribute")
		return nil
	},
	"PUSH": func(r *commands.Reply) error {
		if r.Proto() < 3 {
			return errNoPush
		}
		r.Push(2)
		r.BulkString("server-cpu-usage")
		r.Int(42)
		r.BulkString("Some real reply following the push reply")
		return nil
	},
}

// counting writes the elements of an array or a set.
func counting(r *commands.Reply) error {
	for i := range 3 {
		r.Int(int64(i))
	}
	return nil
}

func debugProtocol(c *commands.Ctx) error {
	write := protocolReplies[c.Args.Word()]
	if write == nil {
		return errProtocolType
	}
	return write(&c.Reply)
}
