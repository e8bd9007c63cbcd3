package persistence

import (
	"github.com/vigildb/vigil/persistence/snapshot"
)

// Snapshots are the snapshots of stores on the same file system.
func (s *Store) Snapshots() snapshot.Copies { return snapshot.Copies{FS: s.opts.FS} }

// Snapshot writes a copy of the store, with everything recorded before the call,
// into dir, which must not exist. It hard-links files where it can and blocks no
// client. Open can open it like any store. origin is what the copy of a member of a group says of itself, nil of
// another one. See [snapshot.Copies.Make] for what happens after an error.
func (s *Store) Snapshot(dir string, origin *snapshot.Origin) error {
	return s.Snapshots().Make(dir, origin, func(part string) error {
		if err := s.commits.AwaitSync(s.commits.Journal.Newest()); err != nil {
			return err
		}
		if s.member != nil {
			files, release := s.member.HoldFiles()
			defer release()
			return s.files.Checkpoint(part, files)
		}
		defer s.files.Log.Pin()()
		return s.files.Checkpoint(part, s.files.Log.Log)
	})
}
