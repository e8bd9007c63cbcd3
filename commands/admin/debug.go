package admin

import (
	"bytes"
	"fmt"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/glob"
)

// Debug is for tests, and for administrators who look at memory.
type Debug interface {
	// Sleep stops the goroutine of the call for a while.
	Sleep(millis int64)
	// Reload writes everything to disk, empties the memory and reads the data
	// back.
	Reload() error
	// Switch turns a part of the server on or off.
	Switch(part DebugSwitch, on bool)
	// FreeMemory returns unused memory to the system.
	FreeMemory()
}

// DebugSwitch is something that tests turn on or off.
type DebugSwitch int

const (
	ActiveExpire   DebugSwitch = iota // the background removal of expired keys; at first on
	Cron                              // all periodic work in the background; at first on
	DebugInScripts                    // scripts may call DEBUG; at first off
)

// debugFlags are the flags of DEBUG, which not every client may use.
const debugFlags = adminFlags | commands.Protected

func debugRows() []commands.Command {
	return []commands.Command{
		{Name: "DEBUG", Arity: -2, Flags: debugFlags | commands.OpenWords, Since: "1.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands for testing the server."},
		{Name: "DEBUG SLEEP", Arity: 3, Flags: debugFlags | commands.Keyspace | commands.LocksKeys, Syntax: "seconds",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Locks all keys for a number of seconds.", Run: debugSleep},
		{Name: "DEBUG SET-ACTIVE-EXPIRE", Arity: 3, Flags: debugFlags, Syntax: "<0 | 1>",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Turns the background removal of expired keys on or off.", Run: debugSwitch(ActiveExpire, 1)},
		{Name: "DEBUG PAUSE-CRON", Arity: 3, Flags: debugFlags, Syntax: "<0 | 1>",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Pauses the periodic work in the background, or resumes it.", Run: debugSwitch(Cron, 0)},
		{Name: "DEBUG SET-DISABLE-DENY-SCRIPTS", Arity: 3, Flags: debugFlags, Syntax: "<0 | 1>",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Sets whether scripts may call those DEBUG commands that touch no keys.", Run: debugSwitch(DebugInScripts, 1)},
		{Name: "DEBUG LOADAOF", Arity: 2, Flags: debugFlags&^commands.Loading | commands.NoMulti, Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Does the same as DEBUG RELOAD.", Run: debugReload},
		{Name: "DEBUG DIGEST", Arity: 2, Flags: debugFlags | commands.ReadOnly | commands.Keyspace, Since: "1.0.0", Cost: "O(n) for n bytes",
			Summary: "Returns a sum of all data, which is the same in Redis.", Run: debugDigest},
		{Name: "DEBUG DIGEST-VALUE", Arity: -2, Flags: debugFlags | commands.ReadOnly, Keys: []commands.KeySpec{commands.KeyRange(2, -1, 1, commands.RO)},
			Syntax: "[key [key ...]]", Since: "1.0.0", Cost: "O(n) for n bytes",
			Summary: "Returns a sum of each value, which is the same in Redis.", Run: debugDigestValue},
		{Name: "DEBUG PROTOCOL", Arity: 3, Flags: debugFlags,
			Syntax: "<string | integer | double | bignum | null | array | set | map | attrib | push | verbatim | true | false>",
			Since:  "1.0.0", Cost: "O(1)",
			Summary: "Returns an example of a type of reply.", Run: debugProtocol},
		{Name: "DEBUG ERROR", Arity: 3, Flags: debugFlags, Syntax: "message", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns an error with this text.", Run: debugError},
		{Name: "DEBUG QUICKLIST-PACKED-THRESHOLD", Arity: 3, Flags: debugFlags, Syntax: "size", Since: "1.0.0", Cost: "O(1)",
			Summary: "Does nothing: lists keep long elements as they keep short ones.", Run: debugPackedThreshold},
		{Name: "DEBUG RELOAD", Arity: -2, Flags: debugFlags&^commands.Loading | commands.NoMulti, Syntax: "[NOSAVE] [NOFLUSH] [MERGE]",
			Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Writes everything to disk, empties the memory and reads the data back.", Run: debugReload},
		{Name: "DEBUG OBJECT", Arity: -3, Flags: debugFlags | commands.ReadOnly, Keys: []commands.KeySpec{commands.Key(2, commands.RO)},
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns details of how a value is stored.", Run: debugObject},
		{Name: "DEBUG STRINGMATCH-LEN", Arity: 4, Flags: debugFlags, Syntax: "length pattern",
			Since: "1.0.0", Cost: "O(n) for n bytes",
			Summary: "Matches a pattern against a long string of one repeated letter.", Run: debugStringMatch},
		{Name: "DEBUG CONFIG-REWRITE-FORCE-ALL", Arity: 2, Flags: debugFlags, Since: "1.0.0", Cost: "O(n) for n parameters",
			Summary: "Writes all parameters into the configuration file, those with default values too.", Run: configRewrite(true)},
		{Name: "DEBUG CHANGE-REPL-ID", Arity: 2, Flags: debugFlags, Since: "1.0.0", Cost: "O(1)",
			Summary: "Does nothing, because no server replicates from this one by an ID.", Run: replyOK},
		{Name: "DEBUG JMAP", Arity: 2, Flags: debugFlags, Since: "1.0.0", Cost: "O(1)",
			Summary: "Does nothing.", Run: replyOK},
		commands.Help("DEBUG", "1.0.0", debugFlags),
	}
}

func replyOK(c *commands.Ctx) error {
	c.Reply.OK()
	return nil
}

func debugSleep(c *commands.Ctx) error {
	millis := c.Args.Float() * 1000
	if err := c.Args.Done(); err != nil {
		return err
	}
	if millis > 0 {
		c.Host.(Debug).Sleep(int64(millis))
	}
	c.Reply.OK()
	return nil
}

// debugSwitch returns a handler for a switch, which the argument when turns on. As
// in Redis, only 0 and 1 stand for themselves and any other integer for 1.
func debugSwitch(part DebugSwitch, when int64) func(c *commands.Ctx) error {
	return func(c *commands.Ctx) error {
		given := min(max(c.Args.Int(), 0), 1)
		if err := c.Args.Done(); err != nil {
			return err
		}
		c.Host.(Debug).Switch(part, given == when)
		c.Reply.OK()
		return nil
	}
}

// debugError replies with the text as an error, on one line.
func debugError(c *commands.Ctx) error {
	return commands.Errorf("%s", c.Args.String())
}

// debugPackedThreshold reads a number of bytes, such as "1b" for one.
func debugPackedThreshold(c *commands.Ctx) error {
	size := bytes.TrimRight(c.Args.Bytes(), "bB")
	if n, ok := commands.ParseInt(size); !ok || n < 0 || n >= 1<<32 {
		return errPackedLimit
	}
	c.Reply.OK()
	return nil
}

// debugReload is for testing values that were read back from disk. NOSAVE and
// MERGE, which make Redis use an older dump, have no effect here: nothing is
// lost.
func debugReload(c *commands.Ctx) error {
	for c.Args.More() {
		switch c.Args.Word() {
		case "NOSAVE", "NOFLUSH", "MERGE":
		default:
			return commands.ErrSyntax
		}
	}
	if err := c.Host.(Debug).Reload(); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func debugObject(c *commands.Ctx) error {
	defer c.Tx.SeeExpired()()
	key := c.Args.Key()
	size, ok := c.Tx.Usage().Bytes(key)
	if !ok {
		return commands.ErrNoKey
	}
	idle, _ := c.Tx.Usage().Idle(key)
	how, err := c.Encoding(key)
	if err != nil {
		return err
	}
	c.Reply.Status(fmt.Sprintf("Value at:0x0 refcount:1 encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d",
		how, size, c.Now/1000-idle, idle))
	return nil
}

// maxMatchLength bounds what one call may ask for.
const maxMatchLength = 64 << 20

func debugStringMatch(c *commands.Ctx) error {
	length := c.Args.IntIn(0, maxMatchLength, commands.ErrNotInteger)
	pattern := c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	text := make([]byte, length)
	for i := range text {
		text[i] = 'x'
	}
	var matches int64
	if glob.Match(pattern, text) {
		matches = 1
	}
	c.Reply.Int(matches)
	return nil
}
