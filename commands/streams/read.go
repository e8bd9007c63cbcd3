package streams

import (
	"errors"
	"math"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

func readRows() []commands.Command {
	named := func(from int) []commands.KeySpec {
		return []commands.KeySpec{{Flags: commands.RO | commands.Access, Begin: from, Keyword: "STREAMS", Last: -1, Step: 1, Limit: 2, Seek: seekStreams}}
	}
	types := commands.Types{"milliseconds": commands.ArgInteger, "maxcount": commands.ArgInteger, "maxsize": commands.ArgInteger}
	return []commands.Command{
		{Name: "XREAD", Arity: -4, Flags: commands.ReadOnly | commands.Blocking | commands.MovableKeys, Keys: named(1),
			Syntax: "[COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]", Types: types, Since: "5.0.0",
			Cost:    "O(log n) for each stream of n entries, and O(m) for m entries returned",
			Summary: "Returns the entries of streams after given IDs, waiting for one if needed.", Run: xread},
		{Name: "XREADGROUP", Arity: -7, Flags: commands.Write | commands.Blocking | commands.MovableKeys, Keys: named(4),
			Syntax: "GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
			Types: commands.Types{"milliseconds": commands.ArgInteger, "min-idle-time": commands.ArgInteger,
				"maxcount": commands.ArgInteger, "maxsize": commands.ArgInteger}, Since: "5.0.0",
			Cost:    "O(log n) for each stream of n entries, and O(m) for m entries returned",
			Summary: "Delivers new and abandoned entries of a group to a consumer, waiting for one if needed, or returns the consumer's pending entries again.",
			Run:     xreadgroup},
	}
}

type readOption struct {
	name string
	args int
}

// readOptions are the options of XREAD and XREADGROUP before STREAMS, and the number of their
// arguments.
var readOptions = []readOption{{"BLOCK", 1}, {"COUNT", 1}, {"GROUP", 2}, {"CLAIM", 1}, {"NOACK", 0}, {"MAXCOUNT", 1}, {"MAXSIZE", 1}}

// seekStreams returns the index of the first stream of a call, or -1 if it has none. A group or
// a consumer may be called streams, or like an option.
func seekStreams(argv [][]byte) int {
	at := 1
	for at < len(argv) && !commands.EqualFold(argv[at], "STREAMS") {
		i := slices.IndexFunc(readOptions, func(o readOption) bool { return commands.EqualFold(argv[at], o.name) })
		if i < 0 {
			return -1
		}
		at += 1 + readOptions[i].args
	}
	if at+1 >= len(argv) {
		return -1
	}
	return at + 1
}

// reading is the arguments of XREAD and XREADGROUP.
type reading struct {
	group, consumer []byte // nil: XREAD
	count           int
	limited         budget // MAXCOUNT and MAXSIZE
	noAck           bool
	claim           bool
	minIdle         int64 // ms for which a pending entry must not have been delivered, to be claimed
	block           bool
	millis          int64 // of block; 0: for ever
	keys, ids       [][]byte
	idsAt           int // index of the first ID among all arguments
}

func readReading(c *commands.Ctx, grouped bool) (r reading, err error) {
	a := &c.Args
	r.count = math.MaxInt
	first := seekStreams(a.All()) // as for the locks
	for a.More() && r.keys == nil {
		valued := a.Left() >= 2
		switch {
		case len(a.All())-a.Left() == first-1:
			if a.Bytes(); a.Left()%2 != 0 {
				return r, errUnbalanced(c)
			}
			r.keys = a.Take(a.Left() / 2)
			r.idsAt = len(a.All()) - a.Left()
			r.ids = a.Rest()
		case valued && a.Is("BLOCK"):
			r.block, r.millis = true, a.TimeoutMillis()
		case valued && a.Is("COUNT"):
			if r.count = readCount(a); r.count == 0 {
				r.count = math.MaxInt
			}
		case valued && a.Is("MAXCOUNT"):
			r.limited.setEntries(a.IntIn(1, math.MaxInt64, errMaxCount))
		case valued && a.Is("MAXSIZE"):
			r.limited.setBytes(a.IntIn(1, math.MaxInt64, errMaxBytes))
		case a.Left() >= 3 && a.Is("GROUP"):
			if !grouped {
				return r, errGroupOfXREAD
			}
			r.group, r.consumer = a.Bytes(), a.Bytes()
		case valued && a.Is("CLAIM"):
			if !grouped {
				return r, errClaimOfXREAD
			}
			r.claim, r.minIdle = true, readClaim(a)
		case a.Is("NOACK"):
			if !grouped {
				return r, errNoAckOfXREAD
			}
			r.noAck = true
		default:
			a.Syntax()
		}
	}
	switch {
	case a.Err() != nil:
		return r, a.Err()
	case r.keys == nil:
		return r, commands.ErrSyntax
	case grouped && r.group == nil:
		return r, errNoGroupOption
	case r.count != math.MaxInt && r.count > r.limited.most():
		return r, errMaxCountSmall
	}
	return r, nil
}

func xread(c *commands.Ctx) error {
	r, err := readReading(c, false)
	if err != nil {
		return err
	}
	var list []entries
	var missing [][]byte
	found := 0
	for i, key := range r.keys {
		if !c.Reaches(key) {
			continue
		}
		s, ok, err := view(c, key)
		switch {
		case err != nil && c.Woken != nil && errors.Is(err, structures.ErrWrongType):
			continue // it may become a stream again
		case err != nil:
			return err
		}
		after, err := r.after(c, i, s)
		if err != nil {
			return err
		}
		if !ok {
			missing = append(missing, key)
			continue
		}
		found++
		if from, more := after.Next(); more && s.HasFrom(from) {
			list = append(list, entries{key: key, s: s, from: from, to: stream.MaxID, count: r.count})
		}
	}
	// Redis finds the IDs for all keys first, and looks each key up again for its entries.
	c.Lookups.Hits += int64(found)
	for _, key := range missing {
		c.Looked(key, false, nil)
	}
	if r.limited.given {
		list = r.limited.cut(list)
		if c.Tx.Err() != nil {
			return c.Tx.Err()
		}
	}
	if len(list) > 0 {
		replyEntries(c, list, func(list []entries) {
			replyStreams(&c.Reply, len(list), func(i int) {
				c.Reply.Bulk(list[i].key)
				list[i].write(&c.Reply)
			})
		})
		return nil
	}
	return r.wait(c, commands.Wait{Rivals: r.rivals(c)})
}

// rivals names the calls that wait for the same: there is nothing after an ID for one call if there is
// nothing for another.
func (r *reading) rivals(c *commands.Ctx) []string {
	if !r.block || c.Woken != nil {
		return nil
	}
	rivals := make([]string, len(r.keys))
	for i, id := range r.ids {
		rivals[i] = "after " + string(id)
	}
	return rivals
}

// after returns the ID behind which XREAD reads stream i; s is nil if it does not
// exist. What depends on the time of the call, $, is put into the call as an ID, in
// case that it is run again.
func (r *reading) after(c *commands.Ctx, i int, s *stream.Stream) (id stream.ID, err error) {
	b := r.ids[i]
	word := byte(0)
	if len(b) == 1 {
		word = b[0]
	}
	switch word {
	case '>':
		return id, errNewOfXREAD
	case '$':
		if s != nil {
			id = s.Last()
		}
		if r.block && !c.InMulti {
			c.Args.All()[r.idsAt+i] = id.Append(nil)
		}
		return id, nil
	case '+':
		if s != nil {
			id, _ = s.Newest().Prev()
		}
		return id, nil
	}
	id, ok := parseID(b, 0)
	if !ok {
		return id, errID
	}
	return id, nil
}

// replyStreams writes what n streams have: pairs of a key and an array.
func replyStreams(r *commands.Reply, n int, write func(i int)) {
	if r.Proto() == 3 {
		r.Map(n)
	} else {
		r.Array(n)
	}
	for i := range n {
		if r.Proto() != 3 {
			r.Array(2)
		}
		write(i)
	}
}

// wait makes the client wait for one of the streams, if it asked for that.
func (r *reading) wait(c *commands.Ctx, w commands.Wait) error {
	if !r.block {
		c.Reply.NullArray()
		return nil
	}
	w.Keys, w.Millis, w.Expired = r.keys, r.millis, (*commands.Reply).NullArray
	return c.ParkFor(w)
}

// groupRead is a stream of XREADGROUP.
type groupRead struct {
	key   []byte
	s     *stream.Stream
	ch    *structures.Change
	group *stream.Group
	fresh bool // >: what is new to the group
	after stream.ID
	count int              // entries to be delivered at most
	idle  []stream.Pending // to be claimed
	gone  []stream.ID      // pending, and no longer in the stream
}

func xreadgroup(c *commands.Ctx) error {
	r, err := readReading(c, true)
	if err != nil {
		return err
	}
	reads, err := r.find(c)
	if err != nil {
		return err
	}
	c.Lookups.Hits += int64(len(reads)) // found again, see xread
	for i := range reads {
		if !r.ready(c, &reads[i], reads[:i]) {
			return c.Tx.Err()
		}
	}
	served := reads[:0]
	for _, g := range reads {
		// What the stream does not have any more is not pending then.
		g.group.Ack(g.ch, g.gone)
		ready := !g.fresh || len(g.idle) > 0 || g.hasNew()
		// A call that waits again has changed nothing.
		if ready || c.Woken == nil {
			r.see(c, &g)
		}
		if ready {
			served = append(served, g)
		}
	}
	if len(served) == 0 {
		return r.wait(c, r.groupWait(c, reads))
	}
	if r.limited.given {
		served = r.limit(served)
		if c.Tx.Err() != nil {
			return c.Tx.Err()
		}
	}
	r.serve(c, served)
	return nil
}

// find looks up the groups, all of which must exist, also when the call waits: a consumer
// that gets NOGROUP creates its group again.
func (r *reading) find(c *commands.Ctx) (reads []groupRead, err error) {
	for i, key := range r.keys {
		if !c.Reaches(key) {
			continue
		}
		g := groupRead{key: key, count: r.count}
		var ok bool
		g.s, g.ch, ok, err = editRead(c, key)
		if err != nil {
			return nil, err
		}
		if ok {
			g.group = g.s.Group(r.group)
		}
		if g.group == nil {
			return nil, errNoGroupToRead(key, r.group)
		}
		b := r.ids[i]
		switch {
		case len(b) == 1 && b[0] == '>':
			g.fresh = true
		case len(b) == 1 && (b[0] == '$' || b[0] == '+'):
			return nil, errMeaningless(b)
		default:
			if g.after, ok = parseID(b, 0); !ok {
				return nil, errID
			}
			// Redis takes the greatest ID for >.
			g.fresh = g.after == stream.MaxID
		}
		reads = append(reads, g)
	}
	return reads, nil
}

// ready makes sure that what the consumer is to get of a stream can be read, behind the
// reads before. Nothing changes before that is sure of all of them.
func (r *reading) ready(c *commands.Ctx, g *groupRead, before []groupRead) bool {
	if !g.fresh {
		consumer := g.group.Consumer(r.consumer)
		return consumer == nil || g.group.ReadyAgain(consumer, g.after, r.count)
	}
	if r.claim && !g.findIdle(c.Now-r.minIdle, r.count) {
		return false
	}
	count := r.count - len(g.idle)
	for i := range before {
		if before[i].group == g.group { // the stream was named twice
			count += min(r.count, math.MaxInt-count)
		}
	}
	return g.group.ReadyNew(count)
}

// hasNew reports whether there is an entry that is new to the group.
func (g *groupRead) hasNew() bool {
	from, ok := g.group.Last().Next()
	return ok && g.s.HasFrom(from)
}

// see notes that the consumer asked, and creates it if it is missing.
func (r *reading) see(c *commands.Ctx, g *groupRead) {
	if consumer := g.group.Consumer(r.consumer); consumer != nil {
		consumer.See(c.Now)
		return
	}
	createConsumer(c, g.key, g.group, g.ch, r.consumer)
}

// serve gives the consumer what the streams have for it and writes it.
func (r *reading) serve(c *commands.Ctx, reads []groupRead) {
	if r.claim || slices.ContainsFunc(reads, func(g groupRead) bool { return !g.fresh }) {
		replyStreams(&c.Reply, len(reads), func(i int) {
			g := &reads[i]
			c.Reply.Bulk(g.key)
			consumer := g.group.Consumer(r.consumer)
			c.Reply.ArrayLater(func() int {
				switch {
				case !g.fresh:
					return r.again(c, g, consumer)
				case r.claim:
					return r.claimed(c, g, consumer)
				}
				return g.group.Deliver(g.ch, consumer, g.count, c.Now, r.noAck, func(e *stream.Entry) { replyEntry(&c.Reply, e) })
			})
		})
		return
	}
	list := make([]entries, 0, len(reads))
	for i := range reads {
		g := &reads[i]
		from, _ := g.group.Last().Next()
		g.group.Deliver(g.ch, g.group.Consumer(r.consumer), g.count, c.Now, r.noAck, nil)
		list = append(list, entries{key: g.key, s: g.s, from: from, to: g.group.Last(), count: g.count})
	}
	replyEntries(c, list, func(list []entries) {
		replyStreams(&c.Reply, len(list), func(i int) {
			c.Reply.Bulk(list[i].key)
			list[i].write(&c.Reply)
		})
	})
}

// again writes what the consumer was given before and has not acknowledged.
func (r *reading) again(c *commands.Ctx, g *groupRead, consumer *stream.Consumer) int {
	return g.group.Redeliver(g.ch, consumer, g.after, g.count, c.Now, func(id stream.ID, e *stream.Entry) {
		if e != nil {
			replyEntry(&c.Reply, e)
			return
		}
		c.Reply.Array(2)
		replyID(&c.Reply, id)
		c.Reply.NullArray()
	})
}
