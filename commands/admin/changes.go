package admin

import (
	"math"
	"sync"

	"github.com/vigildb/vigil/commands"
)

// ChangeLog is the stream of changes.
type ChangeLog interface {
	// NewestChange returns the position behind all changes up to now. It locks all shards for a moment.
	NewestChange() (string, error)
	// Changes returns changes behind a position.
	Changes(from string, q *ChangeQuery) (ChangesRead, error)
}

// ChangeQuery is what a consumer asks for.
type ChangeQuery struct {
	DBs      []int    // none: all
	Prefixes [][]byte // of keys; none: all
	Count    int
	KeysOnly bool
}

// ChangesRead is what was found.
type ChangesRead struct {
	Next    string // position where the next call goes on
	Changes []Change
	Behind  int64 // bytes of the stream behind it
}

// Change is a command that changed something.
type Change struct {
	DB   int
	Args [][]byte
}

// defaultChanges is how many changes a call returns that does not say.
const defaultChanges = 1000

func changesRows() []commands.Command {
	// A consumer sees all keys, whatever its user may read: that is for administrators, as MONITOR and PSYNC are.
	const flags = commands.Admin | commands.NoScript | commands.NoMulti | commands.NoAsyncLoading
	return []commands.Command{
		{Name: "VIGIL.CHANGES", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.", Summary: "Groups the commands about changes of keys."},
		{Name: "VIGIL.CHANGES NOW", Arity: 2, Flags: flags, Since: "0.2.0", Cost: "O(1)",
			Summary: "Returns the position behind all changes up to now, and begins to record later ones.", Run: changesNow},
		{Name: "VIGIL.CHANGES FROM", Arity: -3, Flags: flags | commands.Blocking, Databases: commands.AllDatabases,
			Syntax: "position [COUNT count] [BLOCK milliseconds] [DB db] [PREFIX prefix] [KEYS]",
			Since:  "0.2.0", Cost: "O(n) for n bytes of the stream that are read, which are bounded",
			Summary: "Returns changes behind a position, as commands, and the position where the next call goes on.", Run: changesFrom},
		commands.Help("VIGIL.CHANGES", "0.2.0", commands.Admin|commands.NoScript|commands.Loading|commands.Stale),
	}
}

func changesNow(c *commands.Ctx) error {
	at, err := c.Host.(ChangeLog).NewestChange()
	if err != nil {
		return err
	}
	c.Reply.BulkString(at)
	return nil
}

// changesFrom replies at once if there are changes, if more of the stream is to be looked at than one call does, or without BLOCK.
func changesFrom(c *commands.Ctx) error {
	t := changesTail{log: c.Host.(ChangeLog), q: ChangeQuery{Count: defaultChanges}}
	t.read.Next = c.Args.String()
	block := int64(-1)
	for c.Args.More() {
		switch c.Args.Word() {
		case "COUNT":
			t.q.Count = int(c.Args.IntIn(1, math.MaxInt32, errChangesCount))
		case "BLOCK":
			block = c.Args.TimeoutMillis()
		case "DB":
			t.q.DBs = append(t.q.DBs, int(c.Args.IntIn(0, math.MaxInt32, commands.ErrDBIndex)))
		case "PREFIX":
			t.q.Prefixes = append(t.q.Prefixes, []byte(c.Args.String()))
		case "KEYS":
			t.q.KeysOnly = true
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if t.look() || block < 0 {
		if t.err != nil {
			return t.err
		}
		t.reply(&c.Reply)
		return nil
	}
	return c.ParkFor(commands.Wait{Millis: block, Again: 1, Until: t.look, Expired: t.reply})
}

// changesTail is a call that may wait for changes.
type changesTail struct {
	log ChangeLog
	q   ChangeQuery

	mu   sync.Mutex // a look that takes long may meet the next one, or the end of the wait
	read ChangesRead
	done bool
	err  error
}

// look reads on, and reports whether there is a reply.
func (t *changesTail) look() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		read, err := t.log.Changes(t.read.Next, &t.q)
		if t.err = err; err == nil {
			t.read = read
		}
		t.done = err != nil || len(read.Changes) > 0 || read.Behind > 0
	}
	return t.done
}

// reply replies with what was found, which may be nothing.
func (t *changesTail) reply(r *commands.Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wire, ok := t.err.(commands.WireError); ok {
		r.Error(wire)
		return
	}
	r.Map(3)
	r.BulkString("position")
	r.BulkString(t.read.Next)
	r.BulkString("behind")
	r.Int(t.read.Behind)
	r.BulkString("changes")
	r.Array(len(t.read.Changes))
	for _, o := range t.read.Changes {
		r.Array(2)
		r.Int(int64(o.DB))
		r.Array(len(o.Args))
		for _, a := range o.Args {
			r.Bulk(a)
		}
	}
	t.done = true
}
