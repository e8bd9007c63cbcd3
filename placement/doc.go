// Package placement decides where things live.
package placement
