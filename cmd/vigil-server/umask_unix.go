//go:build unix

package main

import "syscall"

// restrictFiles makes every file that the process creates from now on one of its
// owner alone: the store, the log, sockets. A stricter umask stays. It is process
// wide, so that it is done here and not by package server; that one makes the
// directories so.
func restrictFiles() {
	const others = 0o077
	syscall.Umask(syscall.Umask(others) | others)
}

// isRoot reports whether the process may do anything on the machine.
func isRoot() bool { return syscall.Geteuid() == 0 }
