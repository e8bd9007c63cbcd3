// Package tasks is the background work of a store: tasks that make steps.
//
// The one idea: a step that is not due does no harm, so anybody may make one, in any order. A store makes them in a goroutine
// for each task, a simulation when it likes, and the last step of a task follows all others.
//
// It knows nothing of what a step does. A step may wait for the disk and for steps of other tasks; the end of all waits for each.
package tasks
