package offsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Target is a place for objects, which have names with slashes. Its methods are called by one goroutine at a time.
type Target interface {
	// Put makes an object, or replaces one. After an error it is there whole, or as it was.
	Put(ctx context.Context, name string, b []byte) error
	// Get returns an object. It is fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// List calls f with the names that begin with a prefix, in order, and the sizes of the objects.
	List(ctx context.Context, prefix string, f func(name string, size int64) error) error
	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error
}

// Opener opens the target that a URL names.
type Opener func(url string) (Target, error)

// IsURL reports that a target is named by more than a path.
func IsURL(target string) bool { return strings.Contains(target, "://") }

// ValidTarget refuses what no target is called.
func ValidTarget(target string) error {
	u, err := url.Parse(target)
	switch {
	case !IsURL(target) && filepath.IsAbs(target):
		return nil
	case err == nil && u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
		return nil
	case err == nil && u.Scheme == "s3" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "":
		return nil
	}
	return errTarget
}

var errTarget = errors.New("want s3://bucket/prefix, file:///path or an absolute path")

// Shown is a target as logs may show it.
func Shown(target string) string {
	if u, err := url.Parse(target); err == nil && IsURL(target) {
		return u.Redacted()
	}
	return target
}

// OpenFolder opens a directory, by its path or as file:///path.
func OpenFolder(target string) (Target, error) {
	if path, ok := strings.CutPrefix(target, "file://"); ok {
		target = path
	}
	if !filepath.IsAbs(target) {
		return nil, fmt.Errorf("backup target %s: %w", Shown(target), errTarget)
	}
	return folder(filepath.Clean(target)), nil
}

// folder is a directory as a target.
type folder string

// unfinished ends the names of files that are being written.
const unfinished = ".part"

func (d folder) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Put implements Target. The object is on the device when it returns.
func (d folder) Put(_ context.Context, name string, b []byte) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := writeFile(path+unfinished, b)
	if err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		return errors.Join(err, removeAny(path+unfinished))
	}
	return syncDir(filepath.Dir(path))
}

// Get implements Target.
func (d folder) Get(_ context.Context, name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// List implements Target.
func (d folder) List(ctx context.Context, prefix string, f func(name string, size int64) error) error {
	from := d.path(prefix)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || e.IsDir() || strings.HasSuffix(path, unfinished) {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(string(d), path)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(name), info.Size())
	})
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Stat(from); errors.Is(missing, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// Delete implements Target.
func (d folder) Delete(_ context.Context, name string) error { return removeAny(d.path(name)) }

func removeAny(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeFile writes a file and forces it to the device.
func writeFile(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
