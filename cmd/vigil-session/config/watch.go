package config

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watch sends to changed whenever the file may have changed, until ctx ends.
// It watches the folder: editors and deployments put a new file in the place
// of the old one, which a watch on the file itself would not outlive.
// Sends are dropped while one is waiting in changed.
func Watch(ctx context.Context, path string, changed chan<- struct{}) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer w.Close()
	if err := w.Add(filepath.Dir(path)); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	// A change between the first reading and the watch would be missed.
	notify(changed)
	for {
		select {
		case <-ctx.Done():
			return nil
		// Any event of the folder counts: where the name is a link to a link,
		// as in volumes of Kubernetes, the file itself has none.
		case _, ok := <-w.Events:
			if !ok {
				return nil
			}
			notify(changed)
		case err, ok := <-w.Errors:
			if !ok {
				return nil
			}
			// Events were lost: what is in the file now decides.
			_ = err
			notify(changed)
		}
	}
}

func notify(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
