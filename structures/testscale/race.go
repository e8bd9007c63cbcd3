//go:build race

package testscale

// By divides the rounds of a test: ten times fewer still see every path.
const By = 10
