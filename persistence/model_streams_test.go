package persistence

import (
	"fmt"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// The operations of the model on streams. That a stream does what it should is tested
// where it is; the model keeps what could be seen of it after its last change.

// describeStream is all that can be seen of a stream.
func describeStream(s *stream.Stream) string {
	b := fmt.Appendf(nil, "%d last %v deleted %v added %d\n", s.Len(), s.Last(), s.MaxDeleted(), s.Added())
	s.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		b = fmt.Append(b, e.ID)
		e.Each(func(field, value []byte) { b = fmt.Appendf(b, " %s=%s", field, value) })
		b = append(b, '\n')
		return true
	})
	for _, g := range s.Groups() {
		b = fmt.Appendf(b, "group %s %v %d\n", g.Name(), g.Last(), g.Read())
		for _, c := range g.Consumers() {
			b = fmt.Appendf(b, "consumer %s %d %d %d\n", c.Name(), c.Seen(), c.Active(), c.Pending())
		}
		g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
			of := "nobody" // it was released
			if p.Consumer != nil {
				of = p.Consumer.Name()
			}
			b = fmt.Appendf(b, "%v %s %d %d\n", p.ID, of, p.Time, p.Deliveries)
			return true
		})
	}
	b = fmt.Append(b, s.Window(), s.Naming(0).Added)
	for i := range modelNames {
		if id, ok := s.Named(modelName(i)); ok {
			b = fmt.Appendf(b, " %d %v", i, id)
		}
	}
	return string(b)
}

// modelNames is how many names entries may have, of three producers.
const modelNames = 60

// modelName returns a producer, a name, and a time at which nothing is forgotten for its time but what was forgotten by an operation.
func modelName(i int) (producer, name []byte, now int64) {
	return []byte{'p', byte('0' + i%3)}, []byte{'n', byte('0' + i/3)}, 0
}

func diffStream(tx *Tx, key []byte, want string) string {
	s, ok, err := View[*stream.Stream](tx, key)
	if !ok || err != nil {
		return fmt.Sprintf("stream: got %v, %v", ok, err)
	}
	if got := describeStream(s); got != want {
		return fmt.Sprintf("stream: got\n%s\nwant\n%s", got, want)
	}
	return ""
}

// keepStream makes the model's stream what the store's is.
func (o *trial) keepStream(s *stream.Stream, ch *structures.Change) bool {
	if ch.Len() == 0 && o.exists {
		return false
	}
	o.old.log = describeStream(s)
	o.put(o.old)
	return true
}

// addEntries adds an entry, or so many that the stream has pages.
func (o *trial) addEntries() bool {
	s, ch, ok := editTrial(o, structures.KindStream, stream.New)
	if !ok {
		return false
	}
	n := 1
	if o.r.IntN(3) == 0 {
		n = 300
	}
	for range n {
		id, _ := s.Last().Next()
		s.Add(ch, id, [][]byte{[]byte("field"), fmt.Append(nil, o.r.Uint64()>>o.r.IntN(64))}, stream.PageLimits{Bytes: 1024, Entries: 100})
	}
	return o.keepStream(s, ch)
}

// nameEntries adds entries under names, or changes how many names are remembered.
func (o *trial) nameEntries() bool {
	s, ch, ok := editTrial(o, structures.KindStream, stream.New)
	if !ok {
		return false
	}
	if o.r.IntN(8) == 0 {
		if err := s.SetWindow(ch, stream.Window{Seconds: int64(1 + o.r.IntN(2)), Most: 1 + o.r.IntN(12)}); err != nil {
			o.Fatal(err)
		}
	}
	for range 1 + o.r.IntN(20) {
		producer, name, _ := modelName(o.r.IntN(modelNames))
		if _, known := s.Named(producer, name, o.m.now); known {
			continue
		}
		id, _ := s.Last().Next()
		s.Add(ch, id, [][]byte{[]byte("field"), name}, stream.PageLimits{Bytes: 1024, Entries: 100})
		s.Name(ch, producer, name, id, o.m.now)
	}
	return o.keepStream(s, ch)
}

// releaseEntries gives pending entries back to nobody.
func (o *trial) releaseEntries() bool {
	s, ch, g := o.group()
	if s == nil {
		return false
	}
	var released []stream.Pending
	g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
		if o.r.IntN(3) == 0 {
			released = append(released, stream.Pending{ID: p.ID, Deliveries: o.r.Int64N(5)})
		}
		return len(released) < 30
	})
	g.Release(ch, released)
	return o.keepStream(s, ch)
}

// removeEntries deletes some entries, or trims the stream.
func (o *trial) removeEntries() bool {
	s, ch, ok := editTrial[*stream.Stream](o, structures.KindStream, nil)
	if !ok {
		return false
	}
	switch o.r.IntN(3) {
	case 0:
		s.Trim(ch, stream.Trim{Len: s.Len() * o.r.IntN(4) / 4})
	case 1:
		s.Trim(ch, stream.Trim{Len: s.Len() / 2, Pages: true})
	default:
		var ids []stream.ID
		s.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
			if o.r.IntN(4) == 0 {
				ids = append(ids, e.ID)
			}
			return len(ids) < 40
		})
		s.Delete(ch, ids)
	}
	return o.keepStream(s, ch)
}

// group returns the stream of the trial and one of its groups, which is created if it
// is missing.
func (o *trial) group() (s *stream.Stream, ch *structures.Change, g *stream.Group) {
	s, ch, ok := editTrial[*stream.Stream](o, structures.KindStream, nil)
	if !ok {
		return nil, nil, nil
	}
	name := []byte{'g', byte('0' + o.r.IntN(3))}
	if g = s.Group(name); g == nil {
		g = s.CreateGroup(ch, name, stream.ID{}, 0)
	}
	return s, ch, g
}

// deliver gives entries to a consumer, or gives them again, or lets it claim some.
func (o *trial) deliver() bool {
	s, ch, g := o.group()
	if s == nil {
		return false
	}
	name := fmt.Appendf(nil, "c%d", o.r.IntN(70))
	c := g.Consumer(name)
	if c == nil {
		c = g.CreateConsumer(ch, name, o.m.now)
	}
	if o.r.IntN(4) == 0 {
		g.SetID(ch, stream.ID{}, 0)
	}
	switch o.r.IntN(4) {
	case 0:
		g.Redeliver(ch, c, stream.ID{}, 5, o.m.now, func(stream.ID, *stream.Entry) {})
	case 1:
		g.Claim(ch, c, o.m.now, []stream.Pending{{ID: s.Last(), Time: o.m.now, Deliveries: 3}})
	default:
		g.Deliver(ch, c, o.r.IntN(300), o.m.now, o.r.IntN(5) == 0, nil)
	}
	return o.keepStream(s, ch)
}

// acknowledge takes away what is pending, consumers, or a group.
func (o *trial) acknowledge() bool {
	s, ch, g := o.group()
	if s == nil {
		return false
	}
	switch o.r.IntN(6) {
	case 0:
		s.DestroyGroup(ch, []byte(g.Name()))
	case 1:
		for _, c := range g.Consumers()[:g.ConsumerCount()/2] {
			g.DeleteConsumer(ch, []byte(c.Name()))
		}
	default:
		var ids []stream.ID
		g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
			ids = append(ids, p.ID)
			return true
		})
		o.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		g.Ack(ch, slices.Clone(ids[:len(ids)*o.r.IntN(5)/4]))
	}
	return o.keepStream(s, ch)
}
