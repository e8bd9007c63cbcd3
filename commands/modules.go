package commands

// Module is a module of Redis that clients are told of, because they look for it before they use
// commands that vigil has itself.
type Module struct {
	Name    string
	Version int64
}

// RedisBloom is the module of filters and sketches, in the version whose commands vigil has.
var RedisBloom = Module{"bf", 80800}

// ReJSON is the module of JSON documents, in the version whose commands vigil has.
var ReJSON = Module{"ReJSON", 80800}

// ReplyModules writes the modules that are told of, as MODULE LIST and HELLO do.
func (c *Ctx) ReplyModules() {
	list := c.Host.Limits().Modules
	c.Reply.Array(len(list))
	for _, m := range list {
		c.Reply.Map(4)
		c.Reply.BulkString("name")
		c.Reply.BulkString(m.Name)
		c.Reply.BulkString("ver")
		c.Reply.Int(m.Version)
		c.Reply.BulkString("path")
		c.Reply.BulkString("")
		c.Reply.BulkString("args")
		c.Reply.Array(0)
	}
}
