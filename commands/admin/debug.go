package admin

import (
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
	SetActiveExpire(on bool)
	// FreeMemory returns unused memory to the system.
	FreeMemory()
}

// debugFlags are the flags of DEBUG, which not every client may use.
const debugFlags = adminFlags | commands.Protected

func debugRows() []commands.Command {
	return []commands.Command{
		{Name: "DEBUG", Arity: -2, Flags: debugFlags, Since: "1.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands for testing the server."},
		{Name: "DEBUG SLEEP", Arity: 3, Flags: debugFlags | commands.Keyspace | commands.LocksKeys, Syntax: "seconds",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Locks all keys for a number of seconds.", Run: debugSleep},
		{Name: "DEBUG SET-ACTIVE-EXPIRE", Arity: 3, Flags: debugFlags, Syntax: "<0 | 1>",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Turns the background removal of expired keys on or off.", Run: debugActiveExpire},
		{Name: "DEBUG RELOAD", Arity: -2, Flags: debugFlags&^commands.Loading | commands.NoMulti, Syntax: "[NOSAVE] [NOFLUSH] [MERGE]",
			Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Writes everything to disk, empties the memory and reads the data back.", Run: debugReload},
		{Name: "DEBUG OBJECT", Arity: -3, Flags: debugFlags | commands.ReadOnly, Keys: []commands.KeySpec{commands.Key(2, commands.RO)},
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns details of how a value is stored.", Run: debugObject},
		{Name: "DEBUG STRINGMATCH-LEN", Arity: 4, Flags: debugFlags, Syntax: "length pattern",
			Since: "1.0.0", Cost: "O(n) for n bytes",
			Summary: "Matches a pattern against a long string of one repeated letter.", Run: debugStringMatch},
		{Name: "DEBUG CHANGE-REPL-ID", Arity: 2, Flags: debugFlags, Since: "1.0.0", Cost: "O(1)",
			Summary: "Does nothing, because there is no replication.", Run: replyOK},
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

func debugActiveExpire(c *commands.Ctx) error {
	on := c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Host.(Debug).SetActiveExpire(on != 0)
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
	key := c.Args.Key()
	size, ok := c.Tx.MemoryUsage(key)
	if !ok {
		return commands.ErrNoKey
	}
	idle, _ := c.Tx.Idle(key)
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
