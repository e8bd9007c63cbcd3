package disktest

import "fmt"

// Silent is a logger for Pebble that says nothing.
type Silent struct{}

// Infof implements pebble.Logger.
func (Silent) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (Silent) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger: what must not go on does not.
func (Silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
