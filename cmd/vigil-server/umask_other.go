//go:build !unix

package main

// restrictFiles does nothing: there is no umask.
func restrictFiles() {}

func isRoot() bool { return false }
