package streams

import (
	"bytes"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

func addRows() []commands.Command {
	return []commands.Command{
		{Name: "XADD", Arity: -5, Tips: "nondeterministic_output", Flags: commands.Write | commands.DenyOOM | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO pid | IDMP pid iid] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
			Types:  commands.Types{"threshold": commands.ArgString, "pid": commands.ArgString, "iid": commands.ArgString}, Since: "5.0.0",
			Cost:    "O(1), and O(n) for n entries trimmed",
			Summary: "Adds an entry to a stream, creating it if needed.", Run: xadd},
		{Name: "XTRIM", Arity: -4, Tips: "nondeterministic_output", Flags: commands.Write,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
			Types:  commands.Types{"threshold": commands.ArgString}, Since: "5.0.0",
			Cost:    "O(n) for n entries trimmed",
			Summary: "Removes entries from the beginning of a stream.", Run: xtrim},
	}
}

// trimming is MAXLEN or MINID and what belongs to it.
type trimming struct {
	stream.Trim
	given   bool
	limited bool // LIMIT was given
	refs    bool // References was given
}

// read reads the value of MAXLEN or MINID.
func (t *trimming) read(a *commands.Args, byID bool) {
	if t.given {
		a.Fail(errTwoTrims)
		return
	}
	t.given, t.ByID, t.Pages = true, byID, false
	if a.Left() >= 2 && a.Is("~") {
		t.Pages = true
	} else if a.Left() >= 2 {
		a.Is("=")
	}
	if byID {
		t.Min = readID(a)
		return
	}
	n := a.Int()
	if n < 0 {
		a.Fail(errMaxLen)
	}
	t.Len = int(n)
}

// option reads an option about trimming, if one is next, and reports whether it is.
func (t *trimming) option(a *commands.Args) bool {
	switch {
	case !t.refs && readReferences(a, &t.References):
		t.refs = true
	case a.Left() < 2:
		return false
	case a.Is("MAXLEN"):
		t.read(a, false)
	case a.Is("MINID"):
		t.read(a, true)
	case a.Is("LIMIT"):
		n := a.Int()
		if n < 0 {
			a.Fail(errLimit)
		}
		t.Limit, t.limited = int(n), true
	default:
		return false
	}
	return true
}

// settle checks what was given together. Trimming by whole pages has a limit even
// if none was given.
func (t *trimming) settle(a *commands.Args, nodeEntries int) {
	switch {
	case t.Limit != 0 && !t.given:
		a.Fail(errLimitAlone)
	case t.limited && !t.Pages:
		a.Fail(errLimitExact)
	case !t.limited && t.Pages:
		if t.Limit = 10_000; nodeEntries > 0 {
			t.Limit = min(100*min(nodeEntries, 10_000), 1_000_000)
		}
	}
}

// newID is the argument of XADD that says which ID the entry gets.
type newID struct {
	id   stream.ID
	auto bool // *: the time of the call
	next bool // ms-*: the next one of that time
}

func (n *newID) read(a *commands.Args) {
	b := a.Bytes()
	if ms, ok := bytes.CutSuffix(b, []byte("-*")); ok && len(b) <= maxIDText {
		if n.id.Ms, n.next = commands.ParseUint(ms); !n.next {
			a.Fail(errID)
		}
		return
	}
	id, ok := parseID(b, 0)
	if !ok && a.Err() == nil {
		a.Fail(errID)
	}
	n.id = id
}

// choose returns the ID of an entry behind last.
func (n *newID) choose(last stream.ID, now int64) (stream.ID, error) {
	id := n.id
	switch {
	case last == stream.MaxID:
		return id, errIDExhausted
	case n.auto && uint64(max(now, 0)) > last.Ms:
		return stream.ID{Ms: uint64(now)}, nil
	case n.auto: // the clock went back, or it is the same millisecond
		id, _ = last.Next()
		return id, nil
	case n.next && id.Ms == last.Ms:
		if id, _ = last.Next(); id.Ms != last.Ms {
			return id, errIDSmall
		}
	}
	if !last.Less(id) {
		return id, errIDSmall
	}
	return id, nil
}

// xaddCall is the arguments of XADD.
type xaddCall struct {
	key   []byte
	id    newID
	trim  trimming
	name  naming
	must  bool // NOMKSTREAM
	pairs [][]byte
}

func readXadd(c *commands.Ctx) (x xaddCall, err error) {
	a := &c.Args
	x.key = a.Key()
	for {
		if a.Is("*") {
			x.id.auto = true
			break
		}
		if a.Is("NOMKSTREAM") {
			x.must = true
			continue
		}
		if x.name.option(a) {
			continue
		}
		if !x.trim.option(a) {
			if a.More() {
				x.id.read(a)
			}
			break
		}
	}
	x.trim.settle(a, c.Host.Limits().StreamNode.Entries)
	x.pairs = a.Rest()
	switch {
	case a.Err() != nil:
		return x, a.Err()
	case len(x.pairs) == 0 || len(x.pairs)%2 != 0:
		return x, commands.ErrArity(c.Command)
	case !x.id.auto && !x.id.next && x.id.id == stream.ID{}:
		return x, errIDZero
	case x.name.given() && !x.id.auto:
		return x, errNameNeedsAuto
	}
	x.name.settle(x.pairs)
	return x, nil
}

func xadd(c *commands.Ctx) error {
	x, err := readXadd(c)
	if err != nil {
		return err
	}
	s, ch, ok, err := edit(c, x.key)
	if err != nil {
		return err
	}
	if !ok && x.must {
		c.Reply.Null()
		return nil
	}
	if x.name.given() {
		if err := c.Tx.Require(persistence.LevelTimed); err != nil {
			return err
		}
		if ok && x.name.known(c, s) {
			return nil
		}
	}
	var last stream.ID
	if ok {
		last = s.Last()
	}
	id, err := x.id.choose(last, c.Now)
	if err != nil {
		return err
	}
	if ok && x.trim.given && !s.ReadyTrim(&x.trim.Trim, 1) {
		return c.Tx.Err()
	}
	if !ok {
		if s, ch, err = create(c, x.key); err != nil {
			return err
		}
	}
	s.Add(ch, id, x.pairs, c.Host.Limits().StreamNode)
	if x.name.given() {
		s.Name(ch, x.name.pid, x.name.iid, id, c.Now)
	}
	c.Notify(commands.EventStream, "xadd", x.key)
	if x.trim.given && s.Trim(ch, x.trim.Trim) > 0 {
		c.Notify(commands.EventStream, "xtrim", x.key)
	}
	replyID(&c.Reply, id)
	return nil
}

// create makes a stream under a key that is absent.
func create(c *commands.Ctx, key []byte) (*stream.Stream, *structures.Change, error) {
	c.NotifyNew(key)
	s, ch, _, err := persistence.Edit(c.Tx, key, stream.New)
	if err == nil && c.Tx.Require(persistence.LevelTimed) == nil {
		err = s.SetWindow(ch, c.Host.Limits().StreamWindow)
	}
	return s, ch, err
}

func xtrim(c *commands.Ctx) error {
	key := c.Args.Key()
	var t trimming
	for c.Args.More() {
		if !t.option(&c.Args) {
			c.Args.Syntax()
		}
	}
	if !t.given && t.Limit == 0 {
		c.Args.Fail(errNoTrim)
	}
	t.settle(&c.Args, c.Host.Limits().StreamNode.Entries)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	removed := 0
	if ok {
		removed = s.Trim(ch, t.Trim)
	}
	if removed > 0 {
		c.Notify(commands.EventStream, "xtrim", key)
	}
	c.Reply.Int(int64(removed))
	return nil
}
