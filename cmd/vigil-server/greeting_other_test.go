//go:build !linux

package main

const onlyHere = "VIGIL_TEST_ONLY_HERE"

// becomeServer is for Linux, where a process can have a network of its own.
func becomeServer() {}
