//go:build !race

package testscale

// By divides the rounds of a test.
const By = 1
