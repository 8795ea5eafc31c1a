# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "jobs-client"
  spec.version = "0.1.0"
  spec.summary = "Pushes and performs jobs over the HTTP API of jobs; a queue adapter for ActiveJob"
  spec.authors = ["The jobs project"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 2.7"
  spec.files = ["jobs.rb"]
  spec.require_paths = ["."]
end
