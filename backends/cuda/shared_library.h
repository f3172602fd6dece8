// A library that is loaded while the program runs: the first suitable one of its name.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hopbench::cuda {

class SharedLibrary {
 public:
  struct Search {
    std::string name;                 // for people: "cuDNN"
    std::vector<std::string> places;  // tried in turn; a name without '/' is searched for as the loader does
    std::string beside = {};          // a file that it needs and may not find in its own folder by itself
    bool of_one_name = false;         // the name is the same for different versions of what the library needs
  };
  /// `refusal` returns why a library does not suit ("it is for CUDA 12"), or "" if it does. With `of_one_name` it
  /// checks a copy that shares nothing with this process, if there is room for one. Otherwise the libraries that one
  /// candidate has brought along would answer for the next candidate too.
  /// Throws Error(kEnvironment), naming all libraries that were found, and why each does not suit.
  SharedLibrary(const Search& search, const std::function<std::string(const SharedLibrary&)>& refusal);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Sets `function`. Returns false if there is no symbol of that name.
  template <class F>
  bool find(F& function, const char* symbol) const {
    function = reinterpret_cast<F>(address_of(symbol));
    return function != nullptr;
  }
  std::string path() const;

 private:
  bool open(const std::string& place, const std::string& beside, bool apart);
  void* address_of(const char* symbol) const;

  void* handle_ = nullptr;  // for as long as the process lives
  std::string why_;         // why nothing was opened
};

}  // namespace hopbench::cuda
