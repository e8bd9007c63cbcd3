package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/vigildb/vigil/persistence/format"
)

// Pebble takes anything that does not decode for the end of a manifest, and for
// the end of its newest log unless a later block of it proves otherwise.
// Therefore the files are read once before Pebble does, and held against the
// mark.

// Layout is what was found in the directory of a store before it was opened.
type Layout struct {
	fs       vfs.FS
	dir      string
	mark     Claims
	manifest Synced // the readable part of the one in use
	needed   uint64 // the oldest log that holds what is in no table
	Logs     []Log  // those that are needed, in order
}

// Log is how far a log can be read.
type Log struct {
	Name   string
	End    int64 // after its last complete record
	num    uint64
	chunks int64 // after the last chunk that can be read, of a record that may lack others
	Torn   bool  // what follows is neither a record nor the end that an orderly stop writes
	broken error // what follows is proven to have been a record
	last   bool
}

// Inspect reads the mark, the manifest and the logs that are still needed. The
// error is a *Damage unless the files cannot be read at all.
func Inspect(fsys vfs.FS, dir string, warn func(format string, args ...any)) (l *Layout, err error) {
	l = &Layout{fs: fsys, dir: dir}
	names, err := fsys.List(dir)
	if err != nil {
		return l, err
	}
	var worn bool
	l.mark, worn, err = ReadMark(fsys, dir)
	missing, unreadable := errors.Is(err, fs.ErrNotExist), errors.Is(err, format.ErrCorrupt)
	switch {
	case (missing || unreadable) && !holdsStore(names):
		return l, nil // a store that is to be made, or whose making had only begun
	case missing:
		return l, &Damage{File: MarkName, Offset: -1, Reason: "is missing", Truncatable: true}
	case unreadable:
		return l, &Damage{File: MarkName, Offset: 0, Reason: "neither of its copies can be read", Truncatable: true}
	case err != nil:
		return l, err
	}
	if !l.mark.Made {
		return l, nil // nothing in it was ever acknowledged
	}
	if worn {
		warn("%s: one of its two copies cannot be read; the other one is used", MarkName)
	}
	return l, l.find()
}

// StoreIn reports that there are files of a store, or of one that is being made, in a directory.
func StoreIn(names []string) bool { return holdsStore(names) || hasPrefix(names, MarkName) }

// holdsStore reports that there are files of Pebble's in a directory.
func holdsStore(names []string) bool {
	for _, n := range names {
		if _, ok := ParseFile(n); ok || strings.HasPrefix(n, "marker.") || strings.HasSuffix(n, ".sst") {
			return true
		}
	}
	return false
}

// find reads the files and holds the logs against the mark.
func (l *Layout) find() error {
	if err := l.read(); err != nil {
		return err
	}
	return l.compareLogs()
}

// read follows what Pebble does when it opens a database: a marker names the
// manifest, the manifest the oldest log.
func (l *Layout) read() error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	for _, marker := range []string{"marker.format-version.", "marker.manifest."} {
		if !hasPrefix(names, marker) {
			return &Damage{File: marker + "*", Offset: -1, Reason: "is missing"}
		}
	}
	desc, err := pebble.Peek(l.dir, l.fs)
	if err != nil {
		return err
	}
	if err := l.readManifest(desc.ManifestFilename); err != nil {
		return err
	}
	if err := l.readOptions(desc.OptionsFilename); err != nil {
		return err
	}
	return l.readLogs()
}

// files is what the mark would say if the device had all that can be read of Pebble's files.
func (l *Layout) files() []Synced {
	files := []Synced{l.manifest}
	for _, e := range l.Logs {
		files = append(files, Synced{e.id(), e.End})
	}
	for _, f := range l.mark.Files {
		if f.kind == markSegment {
			files = append(files, f)
		}
	}
	return files
}

// Segments returns what the mark says of the segments of the store's own log.
func (l *Layout) Segments() map[uint64]int64 { return l.mark.Segments() }

func hasPrefix(names []string, prefix string) bool {
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return false
}

// readManifest finds the oldest log that is needed, and checks that what was
// synced of the manifest can be read.
func (l *Layout) readManifest(path string) error {
	name := l.fs.PathBase(path)
	f, err := l.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Damage{File: name, Offset: -1, Reason: "is missing"}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rr := record.NewReader(f, 0)
	var end int64
	for {
		end = rr.Offset()
		r, err := rr.Next()
		var edit []byte
		if err == nil {
			edit, err = io.ReadAll(r)
		}
		if errors.Is(err, io.EOF) || isInvalid(err) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if n := oldestLog(edit); n > 0 {
			l.needed = n
		}
	}
	id, _ := ParseFile(name)
	l.manifest = Synced{id, end}
	if synced := l.mark.Synced(id); padded(end, manifestHeader) < synced {
		return &Damage{File: name, Offset: end, Reason: notRecord(synced)}
	}
	return nil
}

func notRecord(synced int64) string {
	return fmt.Sprintf("what follows cannot be read, though %d bytes had reached the device", synced)
}

func isInvalid(err error) bool {
	return errors.Is(err, record.ErrZeroedChunk) || errors.Is(err, record.ErrInvalidChunk) ||
		errors.Is(err, record.ErrUnexpectedEOF)
}

const (
	BlockBytes     = 32 << 10 // of Pebble's logs and manifests: no chunk crosses them
	manifestHeader = 7        // of a chunk in a manifest
	logHeader      = 19       // of a chunk in a log
	logTrailer     = 11       // what closes a log
)

// padded is where a file that ends with a record at offset end may end as well: a
// block with no room for another header is filled up.
func padded(end int64, header int64) int64 {
	if rest := BlockBytes - end%BlockBytes; rest < header {
		return end + rest
	}
	return end
}

// readOptions checks the file of Pebble's options, which Pebble wants to read. It
// holds nothing of the data, and need not be there.
func (l *Layout) readOptions(path string) error {
	if path == "" {
		return nil
	}
	f, err := l.fs.Open(path)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	var o pebble.Options
	o.EnsureDefaults()
	if err := o.CheckCompatibility(l.dir, string(text)); err != nil {
		return &Damage{File: l.fs.PathBase(path), Offset: -1, Reason: err.Error() +
			" (the file holds none of the data: it may be moved away)"}
	}
	return nil
}

// The fields that an edit of the manifest may begin with.
const (
	editComparer = 1
	editOldest   = 2 // oldest log needed
)

// oldestLog is the oldest log that is needed after an edit of the manifest, 0 if
// the edit does not tell. Pebble puts it first, but for its comparer's name.
func oldestLog(edit []byte) uint64 {
	tag, n := binary.Uvarint(edit)
	if n > 0 && tag == editComparer {
		edit = edit[n:]
		size, n := binary.Uvarint(edit)
		if n <= 0 || size > uint64(len(edit)-n) {
			return 0
		}
		edit = edit[n+int(size):]
		tag, _ = binary.Uvarint(edit)
	}
	if tag != editOldest {
		return 0
	}
	num, n := binary.Uvarint(edit[1:])
	if n <= 0 {
		return 0
	}
	return num
}

// readLogs reads the logs that are needed.
func (l *Layout) readLogs() error {
	l.Logs = nil
	found, err := wal.Scan(wal.Dir{FS: l.fs, Dirname: l.dir})
	if err != nil {
		return err
	}
	for _, log := range found {
		if uint64(log.Num) < l.needed {
			continue
		}
		e, err := readLog(log)
		if err != nil {
			return err
		}
		l.Logs = append(l.Logs, e)
	}
	if n := len(l.Logs); n > 0 {
		l.Logs[n-1].last = true
	}
	return nil
}

func readLog(log wal.LogicalLog) (e Log, err error) {
	fsys, path := log.SegmentLocation(0)
	e = Log{num: uint64(log.Num), Name: fsys.PathBase(path)}
	r := log.OpenForRead()
	defer r.Close()
	for {
		_, off, err := r.NextRecord()
		e.End = off.Physical
		e.chunks = e.End
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			return e, nil
		case errors.Is(err, record.ErrUnexpectedEOF):
			e.Torn = true
		case isInvalid(err) || pebble.IsCorruptionError(err):
			e.Torn, e.broken = true, err
		default:
			return e, fmt.Errorf("read %s: %w", e.Name, err)
		}
		return e, e.findChunks(fsys, path)
	}
}

// findChunks finds how far the chunks of a torn record go. The device confirms what a
// log holds by then, and that may end between two chunks: a crash that takes the later
// ones away leaves a log which is as long as the mark says, and less to read.
func (e *Log) findChunks(fsys vfs.FS, path string) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := numbered(record.NewReader, f, e.num)
	var b [4096]byte
	for {
		chunks, err := r.Next()
		if err != nil {
			return nil // readLog has judged it
		}
		for err == nil {
			e.chunks = max(e.chunks, r.Offset())
			_, err = chunks.Read(b[:])
		}
		if !errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// numbered makes a reader of a log: the type of its number has a name only inside Pebble.
func numbered[N ~uint64](reader func(io.Reader, N) *record.Reader, r io.Reader, num uint64) *record.Reader {
	return reader(r, N(num))
}

// compareLogs looks for the first place in the logs where something is missing
// that had reached the device.
func (l *Layout) compareLogs() error {
	for _, f := range l.mark.Files {
		if f.kind == markLog && f.num >= l.needed && f.Bytes > 0 && l.log(f.num) == nil {
			return l.firstOf(&Damage{File: fmt.Sprintf("%06d.log", f.num), Offset: -1, Truncatable: true,
				Reason: fmt.Sprintf("is missing, though %d bytes of it had reached the device", f.Bytes)}, f.num)
		}
	}
	return l.firstOf(nil, 0)
}

// firstOf is the first damage in a log that is there, unless the missing log num
// comes before.
func (l *Layout) firstOf(missing *Damage, num uint64) error {
	for i := range l.Logs {
		e := &l.Logs[i]
		if missing != nil && num < e.num {
			break
		}
		if d := l.judge(e); d != nil {
			return d
		}
	}
	if missing != nil {
		return missing
	}
	return nil
}

func (l *Layout) log(num uint64) *Log {
	for i := range l.Logs {
		if l.Logs[i].num == num {
			return &l.Logs[i]
		}
	}
	return nil
}

func (e *Log) id() File { return File{markLog, e.num} }

// reaches reports whether what was synced of a log can be read.
func (e *Log) reaches(synced int64) bool {
	return padded(e.chunks, logHeader)+logTrailer >= synced
}

// judge reports whether a log has lost something.
func (l *Layout) judge(e *Log) *Damage {
	reason := ""
	switch synced := l.mark.Synced(e.id()); {
	case !e.reaches(synced):
		reason = notRecord(synced)
	case e.broken != nil:
		reason = "what follows cannot be read, and later parts of the file prove that it had reached the device"
	case e.Torn && !e.last:
		reason = "what follows cannot be read, though there are later logs"
	default:
		return nil
	}
	return &Damage{File: e.Name, Offset: e.End, Reason: reason, Truncatable: true}
}
