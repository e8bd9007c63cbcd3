package disktest

import "fmt"

// Silent is a logger for Pebble, and what rooms of a store report to, that says nothing.
type Silent struct{}

// Infof implements pebble.Logger.
func (Silent) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (Silent) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger: what must not go on does not.
func (Silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Debugf, Warnf, Warn and Error are what rooms say to an operator.
func (Silent) Debugf(string, ...any) {}
func (Silent) Warnf(string, ...any)  {}
func (Silent) Warn(string, error)    {}
func (Silent) Error(string, error)   {}
