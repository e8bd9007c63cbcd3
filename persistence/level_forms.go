package persistence

import (
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// What a group may have of values is in the table of types: which level came with a type, an operation, or a form of heads.
// It is asked where a value is stored whole, and where one is edited, and nowhere else. What a member has as a value already may
// be renamed and removed: all members have it.

// latest is the newest level of the code, which is above NewestLevel in a server that acts as one of the version before.
const latest = uint64(len(levels))

// limit is what values of a type may be in a group.
type limit struct {
	none    bool // there are no such values
	head    byte // the latest form of their heads
	changes structures.Limit
}

// limits are by the level of the group, below the latest, and the kind; nil: values may be all that they are.
var limits = func() (all [latest][structures.Kinds]*limit) {
	for level := range all {
		for _, t := range types.All() {
			all[level][t.Kind] = limitOf(&t, uint64(level))
		}
	}
	return all
}()

func limitOf(t *types.Type, level uint64) *limit {
	l := limit{none: true}
	for _, f := range t.Forms {
		if f.Level > level {
			l.changes.Err = NeedsLevelError{f.Level, level}
			return &l
		}
		l.none, l.head, l.changes.Ops = false, f.Head, f.Ops
	}
	return nil
}

// limitAt returns what values of a type may be in a group with a level, nil if all that they are.
func limitAt(level uint64, v structures.Value) *limit {
	if level < latest {
		return limits[level][v.Kind()]
	}
	return nil
}

// permits returns a NeedsLevelError for a value that a group with a level may not have.
func permits(level uint64, v structures.Value) error {
	l := limitAt(level, v)
	if l == nil {
		return nil
	}
	if f, ok := v.(structures.Formed); l.none || ok && f.Form() > l.head {
		return l.changes.Err
	}
	return nil
}

// earlier is a value that is written in an earlier form.
type earlier struct {
	structures.Reformed
	form byte
}

// AppendHead implements [structures.Value].
func (e earlier) AppendHead(dst []byte) []byte { return e.AppendHeadAs(dst, e.form) }

// written returns a value as the members of a group with a level read it, which may be v itself.
func written(level uint64, v structures.Value) structures.Value {
	if l := limitAt(level, v); l != nil {
		if r, ok := v.(structures.Reformed); ok {
			return earlier{r, max(l.head, r.Form())}
		}
	}
	return v
}
