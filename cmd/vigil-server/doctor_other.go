//go:build !linux

package main

// machineClock is not known here.
func machineClock() clockState { return clockUnknown }

// room is not known here.
func (machineDisk) room(string) (free, total uint64) { return 0, 0 }
