package log

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func benchConfig(b *testing.B) Config {
	return Config{FS: vfs.Default, Dir: b.TempDir(), Store: testStore}
}

// trimBehind drops what is behind the newest frame, as a server that keeps up does.
func trimBehind(b *testing.B, l *Log, at Position, segment *uint64) {
	if at.Segment != *segment {
		*segment = at.Segment
		if err := l.Trim(at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend appends and flushes frames, one each time or some, and syncs every 4 MiB.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 10 << 10, 100 << 10} {
		for _, each := range []int{1, 16} {
			b.Run(fmt.Sprintf("bytes=%d/frames=%d", size, each), func(b *testing.B) {
				l := mustOpen(b, benchConfig(b))
				payload, segment := text(1, size), uint64(0)
				b.SetBytes(int64(size * each))
				b.ReportAllocs()
				for b.Loop() {
					var at Position
					for range each {
						at, _ = l.Append(1, payload)
					}
					if _, err := l.Flush(); err != nil {
						b.Fatal(err)
					}
					if l.Unsynced() > 4<<20 {
						if _, err := l.Sync(); err != nil {
							b.Fatal(err)
						}
						trimBehind(b, l, at, &segment)
					}
				}
			})
		}
	}
}

// BenchmarkMemory is the part of appending and flushing that is not the system's: it writes to nothing.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 10 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			cfg := benchConfig(b)
			cfg.FS = nowhere{vfs.Default}
			l := mustOpen(b, cfg)
			payload, segment := text(1, size), uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				at, err := l.Append(1, payload)
				if err == nil {
					_, err = l.Flush()
				}
				if err == nil && l.Unsynced() > 1<<20 {
					_, err = l.Sync()
					trimBehind(b, l, at, &segment)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type nowhere struct{ vfs.FS }

type nothing struct{ vfs.File }

func (n nowhere) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := n.FS.Create(name, c)
	return nothing{f}, err
}

func (n nowhere) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := n.FS.OpenReadWrite(name, c, opts...)
	return nothing{f}, err
}

func (n nothing) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (n nothing) SyncData() error                        { return nil }

// BenchmarkSync appends, flushes and syncs a frame, in new files or in recycled ones.
func BenchmarkSync(b *testing.B) {
	for _, files := range []string{"new", "recycled"} {
		for _, size := range []int{100, 1 << 10, 10 << 10} {
			b.Run(fmt.Sprintf("files=%s/bytes=%d", files, size), func(b *testing.B) {
				cfg := benchConfig(b)
				cfg.Spares = -1
				if files == "recycled" {
					cfg.Spares = 1
				}
				l := mustOpen(b, cfg)
				payload, segment := text(1, size), uint64(0)
				for l.End().Segment < 4 {
					trimBehind(b, l, put(b, l, make([]byte, 1<<20)), &segment)
				}
				b.ReportAllocs()
				for b.Loop() {
					trimBehind(b, l, put(b, l, payload), &segment)
				}
			})
		}
	}
}

// BenchmarkRead reads a log of 1 GiB.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			cfg := benchConfig(b)
			l := mustOpen(b, cfg)
			payload, total := text(1, size), int64(0)
			for total < 1<<30 {
				if _, err := l.Append(1, payload); err != nil {
					b.Fatal(err)
				}
				if total += int64(size); l.Unsynced() > 32<<20 {
					l.Flush()
					l.Sync()
				}
			}
			l.Close()
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				v, err := View(cfg)
				if err != nil {
					b.Fatal(err)
				}
				if err := v.Read(Position{}, func(Frame) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen opens a log whose last segment is a recycled file with one frame, so that the rest of it is searched.
func BenchmarkOpen(b *testing.B) {
	cfg := benchConfig(b)
	l := mustOpen(b, cfg)
	payload := text(1, 60<<10)
	for l.End().Segment < 3 {
		put(b, l, payload)
	}
	l.Trim(l.End())
	for l.End().Segment < 4 {
		put(b, l, payload)
	}
	cfg.From = Position{4, HeadBytes}
	l.Close()
	for b.Loop() {
		v, err := View(cfg)
		if err != nil || v.mu.turn {
			b.Fatal(err)
		}
	}
}
