package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
)

var simulator struct {
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	ControlURL string `json:"control_url"`
}

// TestMain starts one simulator for all tests.
func TestMain(m *testing.M) {
	kiln := exec.Command("kiln", "simulate", "--json", "--port", "0", "--ready-after", "0")
	output, err := kiln.StdoutPipe()
	if err == nil {
		err = kiln.Start()
	}
	// It prints its settings as soon as it accepts requests.
	if err == nil {
		err = json.NewDecoder(output).Decode(&simulator)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	kiln.Process.Signal(os.Interrupt)
	kiln.Wait()
	os.Exit(code)
}

// control posts to the control port, which takes no key, and returns the count of `verify`.
func control(t *testing.T, path, body string) int {
	t.Helper()
	content := bytes.NewBufferString(body)
	response, err := http.Post(simulator.ControlURL+path, "application/json", content)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var result struct{ Count int }
	err = json.NewDecoder(response.Body).Decode(&result)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(path, response.Status, err)
	}
	return result.Count
}

func TestAFailedPollIsRepeated(t *testing.T) {
	control(t, "/api/reset", "{}")
	control(t, "/api/faults", `{"rule": "html-502@poll:2x"}`)
	picture, err := PictureOf(simulator.BaseURL, simulator.APIKey, "a red fox")
	if err != nil || !bytes.HasPrefix(picture, []byte{0xff, 0xd8}) {
		t.Fatal("no picture: ", err)
	}
	if count := control(t, "/api/requests/verify", `{"fault": "html-502"}`); count != 2 {
		t.Error(count, "failed polls")
	}
	if count := control(t, "/api/requests/verify", `{"method": "POST"}`); count != 1 {
		t.Error(count, "submissions")
	}
}
