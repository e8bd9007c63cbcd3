// Package script has the commands of scripts and functions. The engine that runs them is
// in the package lua, the libraries that scripts use in lualib. What a script asks of the
// server goes through [Runner].
package script
