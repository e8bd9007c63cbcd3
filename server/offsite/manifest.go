package offsite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// PieceBytes is how much of a file makes an object at most. So much, and as much again with a key, is in memory while it is on its way.
const PieceBytes = 8 << 20

// formatNumber is that of all objects.
const formatNumber = 1

// Names of objects.
const (
	// MarkerName is the name of the object by which a target of backups is known.
	MarkerName   = "vigil-backup"
	objectPrefix = "objects/"
	backupPrefix = "backups/"
	logPrefix    = "log/"
)

// nameLayout makes the name of a backup of the time, so that names sort as times do.
const nameLayout = "20060102T150405.000Z"

func objectName(piece string) string { return objectPrefix + piece[:2] + "/" + piece }

// marker says what a target is. It is never encrypted.
type marker struct {
	Format int    `json:"format"`
	Store  string `json:"store"`  // that all is of
	Key    string `json:"key"`    // print of the key, empty for none
	Writer string `json:"writer"` // the only one who may write
	Since  string `json:"since"`  // when it began to
}

// piece is a part of a file, in an object of its own.
type piece struct {
	Name  string `json:"o"`
	Bytes int64  `json:"n"`
}

// file is a file of a snapshot.
type file struct {
	Name   string  `json:"name"`
	Bytes  int64   `json:"bytes"`
	Pieces []piece `json:"pieces"`
}

// logPiece is a part of a segment of the log.
type logPiece struct {
	Segment uint64 `json:"s"`
	From    int64  `json:"f"` // offset in the segment
	piece
}

// position is a place in the log.
type position struct {
	segment uint64
	offset  int64
}

func (p *logPiece) begin() position { return position{p.Segment, p.From} }
func (p *logPiece) end() position   { return position{p.Segment, p.From + p.Bytes} }

// moment is the newest record at a time, in unix milliseconds: all records up to it were there by then.
type moment struct {
	Time   int64
	Record uint64
}

// MarshalJSON writes a moment short: there is one for each second.
func (m moment) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", m.Time, m.Record), nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (m *moment) UnmarshalJSON(b []byte) error {
	var pair [2]uint64
	err := json.Unmarshal(b, &pair)
	m.Time, m.Record = int64(pair[0]), pair[1]
	return err
}

// manifest names all that a backup is.
type manifest struct {
	Format  int        `json:"format"`
	Store   string     `json:"store"`
	Version string     `json:"version"` // of the server
	Made    int64      `json:"made"`    // unix ms: nothing in the files is of later
	Took    int64      `json:"took"`    // ms until it was uploaded
	Files   []file     `json:"files"`
	Log     []logPiece `json:"log"` // from the first segment that the files need
	Moments []moment   `json:"moments"`
	Through int64      `json:"through"` // unix ms: what was on the device by then is in it
}

// bytes is the size of what a restore has to fetch.
func (m *manifest) bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Bytes
	}
	for _, p := range m.Log {
		n += p.Bytes
	}
	return n
}

// names calls f with each object that a backup needs.
func (m *manifest) names(f func(piece)) {
	for _, file := range m.Files {
		for _, p := range file.Pieces {
			f(p)
		}
	}
	for _, p := range m.Log {
		f(p.piece)
	}
}

// valid refuses a manifest that would write outside of a directory, or that says nonsense.
func (m *manifest) valid() error {
	if m.Format != formatNumber {
		return fmt.Errorf("format %d, this version reads %d", m.Format, formatNumber)
	}
	for _, f := range m.Files {
		dir, name := path.Split(f.Name)
		if !filepath.IsLocal(f.Name) || name == "" || dir != "" && dir != logPrefix || strings.ContainsAny(f.Name, `\:`) {
			return fmt.Errorf("file %q: %w", f.Name, ErrDamaged)
		}
		left := f.Bytes
		for _, p := range f.Pieces {
			if p.valid() != nil {
				return fmt.Errorf("file %q: %w", f.Name, ErrDamaged)
			}
			left -= p.Bytes
		}
		if left != 0 {
			return fmt.Errorf("file %q: its pieces are not its %d bytes: %w", f.Name, f.Bytes, ErrDamaged)
		}
	}
	return joined(m.Log)
}

func (p *piece) valid() error {
	if len(p.Name) != 64 || strings.Trim(p.Name, "0123456789abcdef") != "" || p.Bytes < 0 || p.Bytes > PieceBytes {
		return ErrDamaged
	}
	return nil
}

// joined refuses pieces of the log between which something is missing.
func joined(log []logPiece) error {
	for i := range log {
		p := &log[i]
		if p.valid() != nil || i == 0 && p.From != 0 || i > 0 && !follows(log[i-1].end(), p.begin()) {
			return fmt.Errorf("log at %d:%d: %w", p.Segment, p.From, ErrDamaged)
		}
	}
	return nil
}

// follows reports that a piece which begins at next goes on where another one ended.
func follows(end, next position) bool {
	return next == end || next == position{end.segment + 1, 0}
}

// step is how the log goes on behind a backup and the steps before.
type step struct {
	Format  int        `json:"format"`
	Log     []logPiece `json:"log"`
	Moments []moment   `json:"moments"`
	Through int64      `json:"through"`
}

// span is the steps that one object holds, by their numbers.
type span struct{ first, last int }

func (s span) name(backup string) string {
	return fmt.Sprintf("%s%s/%08d-%08d", logPrefix, backup, s.first, s.last)
}

// spansOf returns the objects that hold the steps of a backup, in order and without what later ones hold too. Missing is the
// number of the first step that is not there although a later one is, 0 if there is none.
func spansOf(names []string) (spans []span, missing int) {
	var all []span
	for _, name := range names {
		var s span
		if n, err := fmt.Sscanf(path.Base(name), "%08d-%08d", &s.first, &s.last); err == nil && n == 2 && s.first > 0 && s.last >= s.first {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.first-b.first, b.last-a.last) })
	next := 1
	for _, s := range all {
		if s.last < next {
			continue // several were put into one
		}
		if s.first > next {
			return spans, next
		}
		spans, next = append(spans, s), s.last+1
	}
	return spans, 0
}

// backupTime returns when a backup was begun, by its name.
func backupTime(name string) (time.Time, bool) {
	t, err := time.Parse(nameLayout, name)
	return t, err == nil
}
